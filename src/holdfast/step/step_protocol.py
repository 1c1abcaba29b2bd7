"""What the loop knows of a compiled step, whichever backend made it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

import numpy as np

from holdfast.step.optimizer import FIRST_SCALE, Layout, OptimizerState
from holdfast.step.out_of_memory import is_out_of_memory_text
from holdfast.train.checkpoint.checkpoint_files import Array

Groups = dict[str, dict[str, Array]]
SCALARS = ("count", "scale", "good", "unapplied")
#: The keys of a pipeline's batch that the step looks at; the rest stays on the host.
BATCH_KEYS = ("images", "pixels", "view", "boxes", "labels", "real", "crowd", "colour", "image")


class TrainStep(Protocol):
    """One update a call. Results stay on the device until `fetch`, so that the next step can be under way."""

    micro_batch: int

    def __call__(self, batch: Mapping[str, Any], *, step: int, rate: float, held: bool) -> Any: ...

    def fetch(self, result: Any) -> dict[str, Any]:
        """Plain numbers: loss, parts, gradient_norm, finite, applied, and norms by variable."""
        ...

    def undo(self, result: Any) -> bool:
        """The state before the step that gave `result`, when fetching it raised; False where it stays as it is."""
        ...

    def export(self) -> Groups:
        """The whole state, copied to the host."""
        ...

    def load(self, groups: Mapping[str, Mapping[str, Array]]) -> None: ...

    def split(self, micro_batch: int) -> TrainStep:
        """The same step with smaller micro-batches, on the same state."""
        ...

    def traces(self) -> int: ...


def to_groups(
    moving: OptimizerState, fixed: list[Array], layout: Layout, trainable: list[str], others: list[str]
) -> Groups:
    """A state on the host as the named arrays of a checkpoint."""
    weights, first, second, average = (
        dict(zip(trainable, parts, strict=True)) if (parts := layout.parted_on_host(vector)) else {}
        for vector in (moving.weights, moving.first, moving.second, moving.average)
    )
    optimizer = {f"first/{name}": value for name, value in first.items()}
    optimizer |= {f"second/{name}": value for name, value in second.items()}
    optimizer |= {name: getattr(moving, name) for name in SCALARS}
    groups = {"weights": weights | dict(zip(others, fixed, strict=True)), "optimizer": optimizer}
    if average:
        groups["ema"] = average
    return {
        group: {name: np.asarray(value) for name, value in arrays.items()} for group, arrays in groups.items()
    }


def from_groups(
    groups: Mapping[str, Mapping[str, Array]], trainable: list[str], others: list[str]
) -> tuple[OptimizerState, list[Array]]:
    """The reverse. A name that is missing raises KeyError."""
    weights, optimizer, average = groups["weights"], groups["optimizer"], groups.get("ema", {})
    adam = any(name.startswith("second/") for name in optimizer)
    moving = OptimizerState(
        weights=_concatenated(weights[name] for name in trainable),
        first=_concatenated(optimizer[f"first/{name}"] for name in trainable),
        second=_concatenated(optimizer[f"second/{name}"] for name in trainable if adam),
        average=_concatenated(average[name] for name in trainable if average),
        **{name: optimizer[name] for name in SCALARS},
    )
    return moving, [weights[name] for name in others]


def adapt_state(
    groups: Mapping[str, Mapping[str, Any]],
    before: Mapping[str, Any],
    now: Mapping[str, Any],
    *,
    unapplied: int,
) -> dict[str, dict[str, Any]]:
    """The saved state as the recipe of now needs it: an average that was begun or given up since, the loss scale of
    another precision; and steps that were not finite, of which the run has heard, hold up no further one."""
    made = {name: dict(arrays) for name, arrays in groups.items()}
    state = made["optimizer"]
    if not now["train.ema"]:
        made.pop("ema", None)
    elif "ema" not in made:
        trained = [name.removeprefix("first/") for name in state if name.startswith("first/")]
        made["ema"] = {name: made["weights"][name] for name in trained}
    scaled, scales = (recipe.get("train.precision") == "float16" for recipe in (before, now))
    if scaled != scales:
        state["scale"] = state["scale"] * 0 + (FIRST_SCALE if scales else 1.0)
        state["good"] = state["good"] * 0
    state["unapplied"] = state["unapplied"] * 0 + unapplied
    return made


def _concatenated(arrays: Iterable[Array]) -> Array:
    return np.concatenate([np.zeros(0, np.float32), *(array.ravel() for array in arrays)])


def host_numbers(result: Mapping[str, Any], layout: Layout, names: list[str]) -> dict[str, Any]:
    """Host values of a step's result. `result["squares"]` is a function: fetched only when something is wrong."""
    plain: dict[str, Any] = {
        "loss": float(result["loss"]),
        "parts": {name: float(value) for name, value in result["parts"].items()},
        "gradient_norm": float(result["gradient_norm"]),
        "finite": bool(result["finite"]),
        "applied": bool(result["applied"]),
        "scale": float(result["scale"]),
    }
    if not plain["finite"]:
        parts = layout.parted_on_host(np.asarray(result["squares"]()))
        plain["norms"] = {name: float(np.sqrt(part.sum())) for name, part in zip(names, parts, strict=True)}
    return plain


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an allocation was refused, by TensorFlow, XLA or the interpreter."""
    return isinstance(error, MemoryError) or is_out_of_memory_text(f"{type(error).__name__}: {error}")
