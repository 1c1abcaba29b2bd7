"""What the loop knows about a compiled step, whichever backend adapted it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from holdfast.step.optimizer import FIRST_SCALE, Layout, OptimizerState
from holdfast.step.out_of_memory import is_out_of_memory_text

Array = NDArray[Any]
Groups = dict[str, dict[str, Array]]
#: Scalars of the state: their names in a checkpoint, and the fields.
SCALARS = {"count": "count", "scale": "scale", "good": "good_steps", "unapplied": "unapplied"}
#: The keys of a pipeline's batch that the step uses; the rest stays on the host.
BATCH_KEYS = ("images", "pixels", "view", "boxes", "labels", "real", "crowd", "colour", "image")


class TrainStep(Protocol):
    """One update per call. Results stay on the device until `fetch`, so that the next step can already run."""

    micro_batch: int

    def __call__(self, batch: Mapping[str, Any], *, step: int, learning_rate: float, frozen: bool) -> Any: ...

    def fetch(self, result: Any) -> dict[str, Any]:
        """Plain numbers: loss, parts, gradient_norm, finite, applied, and norms by variable."""
        ...

    def undo(self, result: Any) -> bool:
        """Restores the state before the step of `result`, when fetching it raised. False when nothing had changed."""
        ...

    def export(self) -> Groups:
        """The complete state, copied to the host."""
        ...

    def load(self, groups: Mapping[str, Mapping[str, Array]]) -> None: ...

    def split(self, micro_batch: int) -> TrainStep:
        """The same step with smaller micro-batches, on the same state."""
        ...

    def traces(self) -> int: ...


def to_groups(
    optimizer_state: OptimizerState,
    fixed: list[Array],
    layout: Layout,
    trainable: list[str],
    others: list[str],
) -> Groups:
    """A state on the host as the named arrays of a checkpoint."""
    weights, first, second, ema = (
        dict(zip(trainable, parts, strict=True)) if (parts := layout.unflatten_on_host(vector)) else {}
        for vector in (
            optimizer_state.weights,
            optimizer_state.first_moment,
            optimizer_state.second_moment,
            optimizer_state.ema,
        )
    )
    optimizer = {f"first/{name}": value for name, value in first.items()}
    optimizer |= {f"second/{name}": value for name, value in second.items()}
    optimizer |= {name: getattr(optimizer_state, field) for name, field in SCALARS.items()}
    groups = {"weights": weights | dict(zip(others, fixed, strict=True)), "optimizer": optimizer}
    if ema:
        groups["ema"] = ema
    return {
        group: {name: np.asarray(value) for name, value in arrays.items()} for group, arrays in groups.items()
    }


def from_groups(
    groups: Mapping[str, Mapping[str, Array]], trainable: list[str], others: list[str]
) -> tuple[OptimizerState, list[Array]]:
    """The reverse. A name that is missing raises KeyError."""
    weights, optimizer, ema = groups["weights"], groups["optimizer"], groups.get("ema", {})
    adam = any(name.startswith("second/") for name in optimizer)
    optimizer_state = OptimizerState(
        weights=_concatenated(weights[name] for name in trainable),
        first_moment=_concatenated(optimizer[f"first/{name}"] for name in trainable),
        second_moment=_concatenated(optimizer[f"second/{name}"] for name in trainable if adam),
        ema=_concatenated(ema[name] for name in trainable if ema),
        **{field: optimizer[name] for name, field in SCALARS.items()},
    )
    return optimizer_state, [weights[name] for name in others]


def adapt_state(
    groups: Mapping[str, Mapping[str, Any]],
    before: Mapping[str, Any],
    now: Mapping[str, Any],
    *,
    unapplied: int,
) -> dict[str, dict[str, Any]]:
    """The saved state as the changed recipe needs it: with or without an EMA, the loss scale of another precision.
    `unapplied` is the number of non-finite steps that still count against the limit."""
    adapted = {name: dict(arrays) for name, arrays in groups.items()}
    state = adapted["optimizer"]
    if not now["train.ema"]:
        adapted.pop("ema", None)
    elif "ema" not in adapted:
        trainable = [name.removeprefix("first/") for name in state if name.startswith("first/")]
        adapted["ema"] = {name: adapted["weights"][name] for name in trainable}
    was_scaled, is_scaled = (recipe.get("train.precision") == "float16" for recipe in (before, now))
    if was_scaled != is_scaled:
        state["scale"] = state["scale"] * 0 + (FIRST_SCALE if is_scaled else 1.0)
        state["good"] = state["good"] * 0
    state["unapplied"] = state["unapplied"] * 0 + unapplied
    return adapted


def _concatenated(arrays: Iterable[Array]) -> Array:
    return np.concatenate([np.zeros(0, np.float32), *(array.ravel() for array in arrays)])


def host_numbers(result: Mapping[str, Any], layout: Layout, names: list[str]) -> dict[str, Any]:
    """A result as Python numbers. `result["squares"]` is a function: called only when a number is not finite."""
    plain: dict[str, Any] = {
        "loss": float(result["loss"]),
        "parts": {name: float(value) for name, value in result["parts"].items()},
        "gradient_norm": float(result["gradient_norm"]),
        "finite": bool(result["finite"]),
        "applied": bool(result["applied"]),
        "scale": float(result["scale"]),
    }
    if not plain["finite"]:
        parts = layout.unflatten_on_host(np.asarray(result["squares"]()))
        plain["norms"] = {name: float(np.sqrt(part.sum())) for name, part in zip(names, parts, strict=True)}
    return plain


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an allocation was refused, by TensorFlow, XLA or the interpreter."""
    return isinstance(error, MemoryError) or is_out_of_memory_text(f"{type(error).__name__}: {error}")
