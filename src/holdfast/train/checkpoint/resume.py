"""Going on from a checkpoint: what changed since, whether that can be, and where to go on from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from holdfast.errors import HoldfastError
from holdfast.journal import events as ev
from holdfast.settings.recipe import Recipe, toml_value
from holdfast.train.checkpoint import checkpoint_files
from holdfast.train.checkpoint.checkpoint_files import Snapshot
from holdfast.train.observers.observer import Observers


class CannotResume(HoldfastError):
    """What is on the disk is not the run that the recipe describes."""

    slug = "cannot-resume"


class NoCompleteCheckpoint(HoldfastError):
    slug = "checkpoint-torn"


#: With another value of these the saved state means something else, so going on would be nonsense.
FIXED = {
    "model.detector": "the saved weights are another network's",
    "model.backbone": "the saved weights are another network's",
    "model.input": "the anchors that the weights were trained for are others",
    "model.anchors": "the anchors that the weights were trained for are others",
    "data.classes": "the class heads are those of other classes",
    "data.train": "the position in the data is a position in other data",
    "train.batch": "the position in the data and the schedule count steps of the old batch",
    "train.seed": "the order of the pictures is another",
    "train.optimizer": "the saved moments are another optimizer's",
}
#: Of these, the weights and moments still fit: whoever says so may go on.
UNLESS_ACCEPTED = frozenset({"model.input", "data.train", "train.batch", "train.seed"})
#: These change where or how fast it runs; the result may differ by rounding at most.
HARMLESS = frozenset(
    {
        "train.checkpoint_every",
        "train.keep_checkpoints",
        "hardware.processes",
        "hardware.devices",
        "hardware.copy_to",
    }
)


def flatten(recipe: Recipe) -> dict[str, Any]:
    return {
        f"{table}.{key}": value for table, values in asdict(recipe).items() for key, value in values.items()
    }


def changed_settings(before: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Settings that differ, of those that both know."""
    return {key: (before[key], now[key]) for key in before if key in now and before[key] != now[key]}


#: With another value of these a metric is no longer the one that the best so far was the best by.
BEST_CRITERIA = ("train.monitor", "data.validation", "data.validation_fraction")


def changed_best_criteria(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """In words, what changed of that by which the best is told; nothing where nothing did."""
    changed = {key: pair for key, pair in changed_settings(before, now).items() if key in BEST_CRITERIA}
    return ", ".join(
        f"{key} was {_value_text(was)}, is {_value_text(now_is)}" for key, (was, now_is) in changed.items()
    )


def check_changes(changed: Mapping[str, tuple[Any, Any]], *, where: str, accepted: bool = False) -> None:
    """Refuses what would make nonsense. `accepted`: the user wants it all the same, where the weights still fit."""
    refused = [key for key in changed if key in FIXED and not (accepted and key in UNLESS_ACCEPTED)]
    if refused:
        may = all(key in UNLESS_ACCEPTED for key in refused)
        raise CannotResume(
            f"{refused[0]} was changed, and a run cannot be resumed across that: {FIXED[refused[0]]}",
            where=where,
            found=[
                f"{key} was {_value_text(changed[key][0])}, is {_value_text(changed[key][1])}"
                for key in refused
            ],
            change=[
                "set it back to resume this run, or start one of its own: model.weights takes a run's folder",
                *(
                    ["--accept-changes goes on all the same; the result is then no longer that of one run"]
                    if may
                    else []
                ),
            ],
        )


def describe_changes(changed: Mapping[str, tuple[Any, Any]]) -> str:
    listed = ", ".join(
        f"{key} {_value_text(old)} → {_value_text(new)}" for key, (old, new) in changed.items()
    )
    exact = all(key in HARMLESS for key in changed)
    return f"the recipe was changed since: {listed}" + (
        "" if exact else " (the result will not be that of one run)"
    )


def check_spec(
    before: Mapping[str, Any], now: Mapping[str, Any], *, where: str, accepted: bool = False
) -> None:
    """The network that the weights belong to, as far as it comes from the data and not from the recipe."""
    changed = changed_settings(before, now)
    if "classes" in changed:
        raise CannotResume(
            "the classes of the data are others than when the run began, and the class heads are those of then",
            where=where,
            found=[f"then {_listed(before['classes'])}", f"now {_listed(now['classes'])}"],
            change=[
                "bring the annotations back as they were; data.classes in the recipe holds names and order fast",
                "start a run of its own from this one's weights: model.weights takes a run's folder",
            ],
        )
    if "anchors" in changed and not accepted:
        raise CannotResume(
            'model.anchors = "fitted" fits others to the boxes of the data than when the run began',
            where=where,
            change=[
                "bring the annotations back as they were, or start a run of its own from this one's weights",
                "--accept-changes goes on all the same; the weights were trained for the old ones",
            ],
        )
    if "normalization" in changed:
        raise CannotResume(
            "the network normalises otherwise than when the run began, and the saved weights are of that one",
            where=where,
            found=f"{before['normalization']} then, {now['normalization']} now",
            change="set model.weights back to what it was",
        )


def check_images(
    before: Mapping[str, Any], now: Mapping[str, Any], *, where: str, accepted: bool = False
) -> None:
    if before.get("images") != now.get("images") and not accepted:
        raise CannotResume(
            "the dataset has another number of pictures than when the run began",
            where=where,
            found=f"{before.get('images')} pictures then, {now.get('images')} now",
            change=[
                "bring the data, or data.validation_fraction, back as it was",
                "start a run of its own from this one's weights",
                "--accept-changes goes on all the same; some pictures are then seen more often than others",
            ],
        )
    if before.get("packed_from_epoch") is not None and now.get("packed_from_epoch") is None:
        raise CannotResume(
            "the run reads packed copies of its pictures, and they are gone",
            where=where,
            change="`holdfast data pack RECIPE` makes them again, to the same bytes",
        )


def resize_note(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """A sentence where `data.resize = "auto"` means something else on this machine than where the run began."""
    then, here = (data.get("feed", {}).get("sent_pixels") for data in (before, now))
    if then == here:
        return ""
    was, now_is = (
        f"in the step, from {sent} pixels each," if sent else "by the processor" for sent in (then, here)
    )
    return f"pictures were resized {was} so far, and are resized {now_is} now (the result may differ by rounding)"


def pack_start_epoch(folder: Path) -> int | None:
    """The epoch from which the run reads packed copies, by its newest checkpoint: None where it reads none so far,
    and the first where there is no checkpoint that would say otherwise."""
    for path in reversed(checkpoint_files.committed(folder)):
        try:
            meta = checkpoint_files.read(path, groups=()).meta
        except checkpoint_files.CorruptCheckpoint:
            continue
        found: int | None = meta["data"].get("packed_from_epoch")
        return found
    return 0


def newest_checkpoint(folder: Path, witnesses: Observers) -> Snapshot | None:
    """The newest whole checkpoint. Each that is not whole is named out loud; none whole of several is an error."""
    found, rejected = checkpoint_files.newest_complete(folder)
    for one in rejected:
        witnesses.say(
            ev.CheckpointRejected(path=str(one.path), why=one.why, instead="the one before is taken")
        )
    if found is None and rejected:
        raise NoCompleteCheckpoint(
            "no checkpoint of this run is whole",
            where=folder,
            found=[f"{one.path.name}: {one.why}" for one in rejected[:4]],
            change="start again without --resume, in another --run-dir",
        )
    return found


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")


def _value_text(value: Any) -> str:
    return "nothing" if value is None else toml_value(value)
