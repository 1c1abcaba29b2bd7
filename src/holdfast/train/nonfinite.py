"""What to do after a loss or gradient that is not finite. Its step was not applied. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from holdfast.errors import ExitCode, HoldfastError
from holdfast.journal.events import NonFiniteSeen


class LossNotFinite(HoldfastError):
    slug = "loss-not-finite"
    exit_code = ExitCode.FINDINGS


def decide_policy(policy: str, *, so_far: int, limit: int, can_roll_back: bool) -> str:
    """ "stop", "skip" or "rollback", after `so_far` were skipped or rolled back."""
    if policy == "stop" or so_far >= limit:
        return "stop"
    return "rollback" if policy == "rollback" and can_roll_back else ("skip" if policy == "skip" else "stop")


def first_nonfinite(numbers: Mapping[str, Any]) -> tuple[str, str, float]:
    """Kind, name and value of the first number that is not finite: a part of the loss, the loss, or the gradient."""
    for name, value in numbers["parts"].items():
        if not math.isfinite(value):
            return "loss-part", f"the {name} loss", value
    if not math.isfinite(numbers["loss"]):
        return "loss", "the loss", numbers["loss"]
    worst = next((name for name, value in numbers.get("norms", {}).items() if not math.isfinite(value)), "")
    return "gradient", f"the gradient of {worst}" if worst else "the gradient", numbers["gradient_norm"]


def nonfinite_event(
    step: int, epoch: int, numbers: Mapping[str, Any], *, learning_rate: float, recent: Sequence[float], precision: str,
    images: Sequence[str],
) -> NonFiniteSeen:  # fmt: skip
    kind, name, value = first_nonfinite(numbers)
    finite = [loss for loss in recent if math.isfinite(loss)]
    return NonFiniteSeen(
        what=kind, name=name, step=step, epoch=epoch, value=str(value), last_finite=finite[-1] if finite else None,
        recent=list(recent), weights_finite=True, learning_rate=learning_rate, precision=precision,
        detail={
            "parts": dict(numbers["parts"]), "gradient_norm": numbers["gradient_norm"],
            "norms": dict(numbers.get("norms", {})), "images": list(images),
        },
    )  # fmt: skip


def nonfinite_error(event: NonFiniteSeen, *, run: str, batch: int) -> LossNotFinite:
    """The error that ends the run: the fact first, then the numbers around it."""
    worst = sorted(event.detail["norms"].items(), key=lambda pair: -_size(pair[1]))[:3]
    last = (
        f"last finite loss {event.last_finite:.4g}"
        if event.last_finite is not None
        else "no finite loss before it"
    )
    return LossNotFinite(
        f"{event.name} became {event.value} at step {event.step}",
        where=f"run {run}, batch of {batch}",
        found=[
            f"{last}; learning rate {event.learning_rate:.3g}; gradient norm {event.detail['gradient_norm']:.3g}",
            "parts: " + ", ".join(f"{name} {value:.4g}" for name, value in event.detail["parts"].items()),
            *(["largest gradients: " + ", ".join(f"{name} {value:.3g}" for name, value in worst)] if worst else []),
            "images: " + " ".join(event.detail["images"][:8]),
        ],
        change=[
            f"the state before step {event.step} is saved: check the images, then `--resume` with a lower "
            "train.learning_rate or train.clip_norm",
            'or train.on_nonfinite = "skip" or "rollback"',
        ],
        more="holdfast causes loss-not-finite",
    )  # fmt: skip


def _size(value: float) -> float:
    return math.inf if math.isnan(value) else abs(value)
