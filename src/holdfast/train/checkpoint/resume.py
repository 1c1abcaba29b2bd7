"""Resuming from a checkpoint: which one, what changed since it was written, and whether that is possible."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.errors import HoldfastError
from holdfast.journal import events as ev
from holdfast.settings import pretrained
from holdfast.settings.recipe import Recipe, toml_value
from holdfast.train import loop_state
from holdfast.train.checkpoint import checkpoint_files
from holdfast.train.checkpoint.checkpoint_files import Snapshot
from holdfast.train.early_stop_policy import EarlyStoppingState
from holdfast.train.loop_state import LoopState

if TYPE_CHECKING:
    from holdfast.step.step_protocol import TrainStep


class CannotResume(HoldfastError):
    """The checkpoint does not belong to the run that the recipe describes."""

    slug = "cannot-resume"


class NoCompleteCheckpoint(HoldfastError):
    slug = "checkpoint-torn"


#: With another value of one of these the saved state means something else, and resuming would be wrong.
FIXED = {
    "model.detector": "the saved weights belong to another network",
    "model.backbone": "the saved weights belong to another network",
    "model.input": "the weights were trained for other anchors",
    "model.anchors": "the weights were trained for other anchors",
    "data.classes": "the class heads were trained for other classes",
    "data.train": "the saved position is a position in other data",
    "train.batch": "the position in the data and the schedule count steps of the old batch",
    "train.seed": "the images come in another order",
    "train.optimizer": "the saved moments belong to another optimizer",
}
#: With these the weights and moments still fit: --accept-changes resumes all the same.
UNLESS_ACCEPTED = frozenset({"model.input", "data.train", "train.batch", "train.seed"})
#: These change where or how fast it runs; the result differs by rounding at most.
HARMLESS = frozenset(
    {
        "train.checkpoint_every",
        "train.keep_checkpoints",
        "hardware.processes",
        "hardware.least_processes",
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


#: With another value of one of these the best checkpoint so far was chosen by another metric.
BEST_CRITERIA = ("train.monitor", "data.validation", "data.validation_fraction")


def changed_best_criteria(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """What changed of how the best checkpoint is chosen, as text; empty when nothing did."""
    changed = {key: pair for key, pair in changed_settings(before, now).items() if key in BEST_CRITERIA}
    return ", ".join(
        f"{key} was {_value_text(was)}, is {_value_text(now_is)}" for key, (was, now_is) in changed.items()
    )


def check_changes(changed: Mapping[str, tuple[Any, Any]], *, where: str, accepted: bool = False) -> None:
    """Refuses changes across which a run cannot be resumed; `accepted` allows those where the weights still fit."""
    refused = [key for key in changed if key in FIXED and not (accepted and key in UNLESS_ACCEPTED)]
    if refused:
        acceptable = all(key in UNLESS_ACCEPTED for key in refused)
        raise CannotResume(
            f"{refused[0]} was changed, and a run cannot be resumed across that: {FIXED[refused[0]]}",
            where=where,
            found=[
                f"{key} was {_value_text(changed[key][0])}, is {_value_text(changed[key][1])}"
                for key in refused
            ],
            change=[
                "set it back to resume this run, or start a new run from its weights: model.weights takes a run folder",
                *(
                    ["--accept-changes resumes all the same; the result is then not that of a single run"]
                    if acceptable
                    else []
                ),
            ],
        )


def describe_changes(changed: Mapping[str, tuple[Any, Any]]) -> str:
    listed = ", ".join(
        f"{key} {_value_text(old)} → {_value_text(new)}" for key, (old, new) in changed.items()
    )
    exact = all(key in HARMLESS for key in changed)
    return f"the recipe has changed: {listed}" + (
        "" if exact else " (the result will not be that of a single run)"
    )


def check_spec(
    before: Mapping[str, Any], now: Mapping[str, Any], *, where: str, accepted: bool = False
) -> None:
    """The part of the network that comes from the data and not from the recipe."""
    changed = changed_settings(before, now)
    if "classes" in changed:
        raise CannotResume(
            "the classes of the data have changed since the run began, and the class heads belong to the old ones",
            where=where,
            found=[f"then {_listed(before['classes'])}", f"now {_listed(now['classes'])}"],
            change=[
                "restore the annotations; data.classes in the recipe fixes the names and their order",
                "start a new run from this one's weights: model.weights takes a run folder",
            ],
        )
    if "anchors" in changed and not accepted:
        raise CannotResume(
            'model.anchors = "fitted" gives other anchors for the boxes of the data than when the run began',
            where=where,
            change=[
                "restore the annotations, or start a new run from this one's weights",
                "--accept-changes resumes all the same; the weights were trained for the old anchors",
            ],
        )
    if "normalization" in changed:
        raise CannotResume(
            "the network has another normalization than when the run began, and the saved weights do not fit it",
            where=where,
            found=f"{before['normalization']} then, {now['normalization']} now",
            change="set model.weights back to what it was",
        )


def check_images(
    before: Mapping[str, Any], now: Mapping[str, Any], *, where: str, accepted: bool = False
) -> None:
    if before.get("images") != now.get("images") and not accepted:
        raise CannotResume(
            "the dataset has another number of images than when the run began",
            where=where,
            found=f"{before.get('images')} images then, {now.get('images')} now",
            change=[
                "restore the data, or data.validation_fraction",
                "start a new run from this one's weights",
                "--accept-changes resumes all the same; some images are then seen more often than others",
            ],
        )
    if before.get("packed_from_epoch") is not None and now.get("packed_from_epoch") is None:
        raise CannotResume(
            "the run reads packed copies of its images, and they are gone",
            where=where,
            change="`holdfast data pack RECIPE` makes them again, with the same bytes",
        )


def resize_note(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """A note when `data.resize = "auto"` means something else on this machine than where the run began."""
    then, here = (data.get("feed", {}).get("sent_pixels") for data in (before, now))
    if then == here:
        return ""
    was, now_is = (
        f"in the step, from {sent} pixels each," if sent else "by the CPU" for sent in (then, here)
    )
    return (
        f"images were resized {was} so far, and are resized {now_is} now (the result may differ by rounding)"
    )


def pack_start_epoch(folder: Path) -> int | None:
    """The epoch from which the run reads packed copies, by its newest checkpoint; None when it reads none so far.
    0 without a checkpoint."""
    for path in reversed(checkpoint_files.committed(folder)):
        try:
            meta = checkpoint_files.read(path, groups=()).meta
        except checkpoint_files.CorruptCheckpoint:
            continue
        found: int | None = meta["data"].get("packed_from_epoch")
        return found
    return 0


def needs_initial_weights(recipe: Recipe) -> bool:
    """False: the network is built from what the checkpoint says of it. A path is gone, or a public detector's file
    would be downloaded for nothing."""
    weights = recipe.model.weights
    if not weights or weights == "imagenet" or "://" in weights:
        return True
    return weights not in pretrained.NAMES and Path(weights).exists()


def newest_checkpoint(folder: Path, notify: Callable[[ev.Event], None]) -> Snapshot | None:
    """The newest complete checkpoint. Corrupt ones are reported; when all are corrupt, that is an error."""
    found, rejected = checkpoint_files.newest_complete(folder)
    for corrupt in rejected:
        notify(
            ev.CheckpointRejected(
                path=str(corrupt.path), why=corrupt.reason, instead="using the one before it"
            )
        )
    if found is None and rejected:
        raise NoCompleteCheckpoint(
            "all checkpoints of this run are corrupt",
            where=folder,
            found=[f"{corrupt.path.name}: {corrupt.reason}" for corrupt in rejected[:4]],
            change="start again without --resume, in another --run-dir",
        )
    return found


#: What a checkpoint of this trainer says beside its arrays; right checksums alone do not make it one.
_PARTS: dict[str, type] = {"recipe": dict, "data": dict, "spec": dict, "progress": dict, "micro_batch": int}


def check_parts(found: Snapshot, folder: Path) -> None:
    """Refuses a checkpoint that another program wrote."""
    odd = [name for name, kind in _PARTS.items() if not isinstance(found.meta.get(name), kind)]
    if odd:
        raise _not_ours(folder / found.name, f"{checkpoint_files.META_FILE} does not say: {_listed(odd)}")


def check_arrays(found: Snapshot, needed: checkpoint_files.Groups, folder: Path) -> None:
    """Refuses a state that is not that of this network: `needed` has the names and the shapes."""
    shapes = {
        f"{group}/{name}": array.shape for group, arrays in needed.items() for name, array in arrays.items()
    }
    saved = {
        f"{group}/{name}": array.shape
        for group, arrays in found.groups.items()
        for name, array in arrays.items()
    }
    odd = [name for name, shape in shapes.items() if saved.get(name) != shape]
    if odd:
        raise _not_ours(folder / found.name, f"missing, or of another shape: {_listed(odd)}")


def _not_ours(path: Path, why: str) -> CannotResume:
    return CannotResume(
        "the newest checkpoint does not hold the state of this run",
        where=path,
        found=why,
        change=f"move {path.name} elsewhere to resume from the one before it, or start in another --run-dir",
    )


def check_checkpoint(
    found: Snapshot, recipe: Recipe, data: Mapping[str, Any], spec: Mapping[str, Any], *, where: str, accepted: bool
) -> list[ev.Event]:  # fmt: skip
    """Refuses to resume a run that the recipe or the data no longer describe; else what is worth reporting."""
    changed = changed_settings(found.meta["recipe"], flatten(recipe))
    check_changes(changed, where=where, accepted=accepted)
    check_images(found.meta["data"], data, where=where, accepted=accepted)
    check_spec(found.meta["spec"], spec, where=where, accepted=accepted)
    note = resize_note(found.meta["data"], data)
    events: list[ev.Event] = [ev.Note(text=note)] if note else []
    if changed:
        events.append(ev.RecipeChanged(changes={key: list(pair) for key, pair in changed.items()}))
    return events


def adapted(found: Snapshot, recipe: Recipe, *, unapplied: int) -> Snapshot:
    """The checkpoint as the recipe needs it now; it may be from before a change."""
    from holdfast.step.step_protocol import (
        adapt_state,
    )  # brings Keras in, and a command asks this module first

    groups = adapt_state(found.groups, found.meta["recipe"], flatten(recipe), unapplied=unapplied)
    return replace(found, groups=groups)


def restore(
    step: TrainStep, found: Snapshot, recipe: Recipe, *, tolerated: int, folder: Path
) -> tuple[LoopState, str]:
    """Loads the checkpoint into the step. Returns the loop's state, and a note when the best is chosen differently."""
    state, note = loop_state.from_json(found.meta["progress"]), ""
    if changed := changed_best_criteria(found.meta["recipe"], flatten(recipe)):
        state.patience = EarlyStoppingState()
        note = f"{changed}: the best checkpoint is chosen again from here"
    needed = step.export()
    check_arrays(found, {group: needed[group] for group in needed if group != "ema"}, folder)
    step.load(adapted(found, recipe, unapplied=min(state.skipped, tolerated)).groups)
    return state, note


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")


def _value_text(value: Any) -> str:
    return "nothing" if value is None else toml_value(value)
