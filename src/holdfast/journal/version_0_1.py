"""Events of journals of version 0.1: its `note_made` had a sentence and a dictionary, recognised by its keys.

A journal of that version gets the same verdict. A note without a known key becomes a `Note`.
"""

from __future__ import annotations

import os.path
from collections.abc import Callable, Mapping
from typing import Any

from . import events as ev
from .events import Event, Json

_IMAGES = (".jpg", ".jpeg", ".png", ".gif", ".bmp", ".webp")
#: The coordinator of 0.1 wrote the signal that stopped a group as the first word of its sentence.
_STOP_SIGNALS = ("SIGTERM", "SIGINT", "SIGHUP")


def event_of(note: Json) -> Event:
    """The event that is written today in place of the note."""
    text, facts = str(note.get("text") or ""), note.get("facts")
    if not isinstance(facts, dict):
        return ev.Note(text=text)
    table = _COORDINATOR_KEYS if facts.get("by") == "conductor" else _KEYS
    for key, read in table.items():
        if key in facts:
            return read(facts, text)
    return _stop_requested(text) if table is _COORDINATOR_KEYS else ev.Note(text=text)


def _nested(kind: type[Event], key: str, **renamed: str) -> Callable[[Json, str], Event]:
    """The dictionary under `key` has the fields; `renamed` gives the old name of a field."""
    old = {name: renamed.get(name, name) for name in kind.fields}
    return lambda facts, text: _event(kind, facts[key], old)


def _flat(kind: type[Event], **renamed: str) -> Callable[[Json, str], Event]:
    """The facts themselves are the fields, and the sentence is `text` where the event has one."""
    old = {name: renamed.get(name, name) for name in kind.fields}
    return lambda facts, text: _event(kind, {"text": text, **facts}, old)


def _event(kind: type[Event], values: Mapping[str, Any], old: Mapping[str, str]) -> Event:
    if not isinstance(values, dict):
        raise TypeError("not the facts of such a note")
    return kind(**{name: values[before] for name, before in old.items() if before in values})


def _open_loop(facts: Json, text: str) -> Event:
    loop = facts["open_loop"]
    return ev.OpenLoopSeen(where=loop.get("where", ""), until=loop.get("until") or [])


def _dropped(facts: Json, text: str) -> Event:
    files = [str(path) for path in facts.get("files", [])]
    images = any(os.path.splitext(path)[1].lower() in _IMAGES for path in files)
    return ev.DataDropped(
        count=int(facts["dropped"]),
        unit="images" if images else "records",
        lost_by_file=dict.fromkeys(files, 0),
    )


def _micro_batch(facts: Json, text: str) -> Event:
    short = "out_of_memory_at" in facts
    return ev.MicroBatchSet(
        micro_batch=int(facts["micro_batch"]),
        was=facts.get("was"),
        reason="out-of-memory" if short else ("killed-for-memory" if "was" in facts else "start"),
        step=facts.get("out_of_memory_at"),
        error=str(facts.get("error", "")),
    )


def _agreed(facts: Json, text: str) -> Event:
    return ev.CheckpointAgreed(newest_by_rank=facts["newest_by_rank"])


def _copy_failed(facts: Json, text: str) -> Event:
    return ev.CopyFailed(url=str(facts["copy_failed"]), error=text)


def _stop_requested(text: str) -> Event:
    signal = text.partition(" ")[0]
    if signal in _STOP_SIGNALS and text.startswith(f"{signal} came"):
        return ev.GroupStopRequested(signal=signal, text=text)
    return ev.Note(text=text)


_COORDINATOR_KEYS: dict[str, Callable[[Json, str], Event]] = {
    "peer_lost": _flat(ev.AgentLost, rank="peer_lost"),
    "remark": _flat(ev.GroupRemark, busy_with="at"),
    "peer_missing": _flat(ev.AgentsMissing, ranks="peer_missing"),
    "stacks": _nested(ev.AgentStacksCaptured, "stacks"),
    "restarted": lambda facts, text: ev.GroupRestarted(),
}

#: In the order in which they are tried: a note may have several.
_KEYS: dict[str, Callable[[Json, str], Event]] = {
    # the probe
    "exit_called": _nested(ev.ExitCalled, "exit_called"),
    "signal_sent": _nested(ev.SelfSignalled, "signal_sent"),
    "worker_exit": _nested(ev.WorkerExitCalled, "worker_exit", worker_pid="pid"),
    "worker_crashed": _flat(ev.WorkerCrashed, worker_pid="worker_crashed"),
    "open_loop": _open_loop,
    "never_left": _flat(ev.DataOnlyLoopSeen, where="never_left"),
    "never_applied": _nested(ev.GradientsNotApplied, "never_applied", optimizer_where="made"),
    "asked_again": _flat(ev.ExhaustedIteratorUsed, times="asked_again"),
    "empty_passes": _flat(ev.EmptyPassSeen, passes="empty_passes"),
    "dropped": _dropped,
    "pieces": _nested(ev.ArrayShapesDiffered, "pieces", index="number", total="of"),
    "machine_code": _nested(ev.MachineCodeCounted, "machine_code"),
    "footprint": _nested(
        ev.FootprintMeasured,
        "footprint",
        gpu_peak_bytes="card_peak_bytes",
        gpu_limit_bytes="card_limit_bytes",
    ),
    # the supervisor
    "not_known": _flat(ev.WatchLimited, unknown="not_known"),
    "output_bytes": _flat(ev.SupervisorLost),
    # the trainer
    "answer": _nested(ev.ErrorReported, "answer", slug="error"),
    "micro_batch": _micro_batch,
    "memory": _nested(ev.MemoryMeasured, "memory"),
    "memory_predicted_bytes": _flat(ev.MemoryPredicted, predicted_bytes="memory_predicted_bytes"),
    "rolled_back_to": _flat(ev.RolledBack, step="rolled_back_to", learning_rate_scale="rate_scale"),
    "weights_sha256": _flat(ev.WeightsHashed, sha256="weights_sha256"),
    "checkpoint_torn": _flat(ev.CheckpointRejected, path="checkpoint_torn"),
    "newest_by_rank": _agreed,
    "unsaved": _flat(ev.SaveAbandoned, step="unsaved"),
    "best_missing": _flat(ev.BestCheckpointMissing),
    "model": _flat(ev.ModelWritten, path="model"),
    "recipe_changed": _flat(ev.RecipeChanged, changes="recipe_changed"),
    "copied": _flat(ev.CheckpointCopied, url="copied"),
    "copy_failed": _copy_failed,
    "fetched": _flat(ev.CheckpointFetched, url="fetched"),
    "fetch_failed": _flat(ev.FetchFailed, url="fetch_failed"),
    "bad_picture": _flat(ev.BadImageSkipped, image="bad_picture"),
    "packed": _flat(ev.ImagesPacked, images="packed", from_epoch="packed_from_epoch"),
}
