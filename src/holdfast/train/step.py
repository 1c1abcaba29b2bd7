"""What the loop knows of a compiled step, whichever backend made it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from holdfast.train.checkpoints import Array
from holdfast.train.update import Moving

Groups = dict[str, dict[str, Array]]
#: The keys of a pipeline's batch that the step looks at; the rest stays on the host.
USED = ("images", "boxes", "labels", "real", "crowd", "colour", "image")


class Step(Protocol):
    """One update a call. Results stay on the device until `fetch`, so that the next step can be under way."""

    micro_batch: int

    def __call__(self, batch: Mapping[str, Any], *, step: int, rate: float, held: bool) -> Any: ...

    def fetch(self, result: Any) -> dict[str, Any]:
        """Plain numbers: loss, parts, gradient_norm, finite, applied, and norms by variable."""
        ...

    def undo(self, result: Any) -> None:
        """The state before the step that gave `result`, when fetching it raised."""
        ...

    def export(self) -> Groups:
        """The whole state, copied to the host."""
        ...

    def load(self, groups: Mapping[str, Mapping[str, Array]]) -> None: ...

    def split(self, micro_batch: int) -> Step:
        """The same step with smaller micro-batches, on the same state."""
        ...

    def traces(self) -> int: ...


def to_groups(moving: Moving, fixed: list[Array], trainable: list[str], others: list[str]) -> Groups:
    """A state on the host as the named arrays of a checkpoint."""
    weights = dict(zip([*trainable, *others], [*moving.weights, *fixed], strict=True))
    optimizer = dict(zip((f"first/{name}" for name in trainable), moving.first, strict=True))
    if moving.second:
        optimizer |= dict(zip((f"second/{name}" for name in trainable), moving.second, strict=True))
    optimizer |= {
        "count": moving.count,
        "scale": moving.scale,
        "good": moving.good,
        "unapplied": moving.unapplied,
    }
    groups = {"weights": weights, "optimizer": optimizer}
    if moving.average:
        groups["ema"] = dict(zip(trainable, moving.average, strict=True))
    return {
        group: {name: np.asarray(value) for name, value in arrays.items()} for group, arrays in groups.items()
    }


def from_groups(
    groups: Mapping[str, Mapping[str, Array]], trainable: list[str], others: list[str]
) -> tuple[Moving, list[Array]]:
    """The reverse. A name that is missing raises KeyError: `resume` has compared them before."""
    weights, optimizer, average = groups["weights"], groups["optimizer"], groups.get("ema", {})
    adam = any(name.startswith("second/") for name in optimizer)
    moving = Moving(
        weights=[weights[name] for name in trainable],
        first=[optimizer[f"first/{name}"] for name in trainable],
        second=[optimizer[f"second/{name}"] for name in trainable] if adam else [],
        average=[average[name] for name in trainable] if average else [],
        count=optimizer["count"],
        scale=optimizer["scale"],
        good=optimizer["good"],
        unapplied=optimizer["unapplied"],
    )
    return moving, [weights[name] for name in others]


def numbers(result: Mapping[str, Any], names: list[str]) -> dict[str, Any]:
    """Host values of a step's result."""
    plain: dict[str, Any] = {
        "loss": float(result["loss"]),
        "parts": {name: float(value) for name, value in result["parts"].items()},
        "gradient_norm": float(result["gradient_norm"]),
        "finite": bool(result["finite"]),
        "applied": bool(result["applied"]),
        "scale": float(result["scale"]),
    }
    if not plain["finite"]:
        plain["norms"] = dict(zip(names, np.asarray(result["norms"]).tolist(), strict=True))
    return plain


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an allocation was refused, by TensorFlow, XLA or the interpreter."""
    text = f"{type(error).__name__}: {error}"
    return isinstance(error, MemoryError) or any(
        sign in text
        for sign in ("ResourceExhaustedError", "RESOURCE_EXHAUSTED", "OOM when allocating", "Out of memory")
    )
