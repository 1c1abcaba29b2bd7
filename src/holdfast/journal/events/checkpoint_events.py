"""Checkpoints and models: saved, restored, copied to a bucket and back."""

from __future__ import annotations

from typing import Any

from .event import Event, field


class SaveStarted(Event):
    path: str = ""
    by: str = ""


class SaveDone(Event):
    path: str = ""
    bytes: int | None = None
    duration_s: float = 0.0
    step: int | None = None


class SaveFailed(Event):
    path: str = ""
    error: str = ""
    errno: int | None = None
    free_bytes: int | None = None
    where: str = ""  # the user's line that saved


class Restored(Event):
    path: str = ""
    by: str = ""  # load_weights | BackupAndRestore | tf.train.Checkpoint | load_model
    iterations: int | None = None  # of the optimizer afterwards
    epoch: int | None = None
    optimizer_restored: bool | None = None
    where: str = ""
    planned_steps: int | None = (
        None  # a goal of the script's that `iterations` has reached, and what it is called
    )
    planned_name: str = ""


class StateDictLoaded(Event):
    """A module of torch was given a state without `strict`. Recorded when it took none of it, and once after that."""

    taken: int = 0
    given: int = 0
    wanted_name: str = ""  # the first of the module's own that was not there
    given_name: str = ""  # the first that was not taken
    where: str = ""


class CheckpointRejected(Event):
    """A checkpoint is corrupt and is not used."""

    path: str = ""  # or the address in a bucket
    why: str = ""
    instead: str = ""  # what is done instead, for a person


class CheckpointAgreed(Event):
    """Which checkpoint the processes of a group resume from."""

    step: int | None = None  # None: rank 0 has none, and all start at the first step
    sent: bool = False  # rank 0 sends its own to the others
    newest_by_rank: list[int] = field(default_factory=list)  # -1: none


class SaveAbandoned(Event):
    """The run's folder does not take the last checkpoint."""

    step: int = 0
    text: str = ""  # for a person: why, and where it was put instead


class BestCheckpointMissing(Event):
    """The model is written with the last weights, since the checkpoint of the best ones is corrupt."""

    text: str = ""  # for a person


class ModelWritten(Event):
    path: str = ""


class RecipeChanged(Event):
    """A resumed run has other settings than its checkpoint."""

    changes: dict[str, list[Any]] = field(default_factory=dict)  # setting: [before, now]


class CheckpointCopied(Event):
    """A checkpoint is complete in the bucket."""

    url: str = ""
    duration_s: float = 0.0


class CopyFailed(Event):
    """A checkpoint or the model could not be copied to the bucket."""

    what: str = ""  # the file or folder
    url: str = ""
    error: str = ""
    retries: bool = False  # it is tried again


class CheckpointFetched(Event):
    """A checkpoint was downloaded from the bucket to resume from."""

    url: str = ""


class FetchFailed(Event):
    """The bucket could not be read; the run resumes from the checkpoints on this machine."""

    url: str = ""
    error: str = ""
