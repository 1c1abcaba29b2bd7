"""What layers do that act otherwise in training than in inference: batch normalisation and dropout, in torch's record.

The backward pass keeps the mean and the variance of each batch, beside the averages, and which values were dropped.
"""

from __future__ import annotations

from typing import Any

from ...journal.events import DropoutSeen, NormalisationSeen
from ..runtime.context import ProbeContext
from . import normalisation

PART = "torch_modes"
_FEWEST_VALUES = 32  # of a channel, whose mean says something
_MOST_LAYERS, _MOST_VALUES = 60, 2_000_000
_EVERY_CALL = 50  # calls that are looked at one by one by others; of these, only some are here
_SOME = (8, 16, 32)
_DROPOUTS_AT = 8
_KEEPS = 1e-3  # a mask has this scale exactly; it is computed in float32, or in half precision


class TorchModes:
    """Of one loop."""

    def __init__(self, context: ProbeContext) -> None:
        self._context = context
        self.new_run()

    def new_run(self) -> None:
        self._calls = 0
        self._averages: NormalisationSeen | None = None
        self._dropped = False
        self._evaluated = False

    def switched_to_inference(self) -> None:
        self._evaluated = True

    def looked_at(self, nodes: list[tuple[str, Any]]) -> None:
        """Operations of a step, from the loss to the inputs, by their kind."""
        self._calls += 1
        if self._calls <= _EVERY_CALL and self._calls not in _SOME:
            return
        if self._calls == _DROPOUTS_AT:
            self._look_at_dropout(nodes[::-1])
        layers = [node for kind, node in nodes[::-1] if "BatchNorm" in kind][:_MOST_LAYERS]
        rows = [
            {"name": f"normalisation {place + 1}", **row}
            for place, row in enumerate(map(_averages, layers))
            if row
        ]
        if not rows:
            return
        if self._averages is None:
            self._context.at_exit.append(self._write)
        self._averages = NormalisationSeen(step=self._context.heartbeat.step, layers=rows)

    def _look_at_dropout(self, nodes: list[tuple[str, Any]]) -> None:
        rates = [rate for rate in (_dropped(kind, node) for kind, node in nodes) if rate is not None]
        if rates:
            self._context.record(
                DropoutSeen(step=self._context.heartbeat.step + 1, rates=rates[:_MOST_LAYERS])
            )

    def _write(self) -> None:
        if self._averages is not None:
            self._context.record(self._averages.changed(evaluated=self._evaluated))


def _averages(node: Any) -> dict[str, Any]:
    """Empty where it kept no averages, or did not use those of the batch, or of too few values."""
    given = saved(node, "input")
    mean, variance, batch, scale = (
        saved(node, name) for name in ("running_mean", "running_var", "result1", "result2")
    )
    if given is None or not getattr(node, "_saved_training", True) or any(
        one is None or not one.numel() for one in (mean, variance, batch, scale)
    ):  # fmt: skip
        return {}
    if given.numel() < _FEWEST_VALUES * mean.numel():
        return {}
    mean, variance, batch, scale = (
        one.detach().double().cpu().numpy() for one in (mean, variance, batch, scale)
    )
    return normalisation.of_batch(mean, variance, batch, scale**-2.0)


def _dropped(kind: str, node: Any) -> float | None:
    """The share that a dropout has dropped; None of any other operation."""
    if "Dropout" in kind:
        share = getattr(node, "_saved_p", None)
        return float(share) if isinstance(share, float) else None
    mask = saved(node, "other") if kind == "Mul" and saved(node, "self") is None else None
    if mask is None or mask.numel() < _FEWEST_VALUES or mask.numel() > _MOST_VALUES:
        return None
    scale, dropped = float(mask.max()), float((mask == 0).double().mean())
    if scale <= 1.0 or not 0.0 < dropped < 1.0:
        return None
    either = bool(((mask == 0) | (mask == mask.max())).all())
    rate = 1.0 - 1.0 / scale
    noise = 5.0 * (rate * (1 - rate) / mask.numel()) ** 0.5
    return round(rate, 4) if either and abs(dropped - rate) < noise + _KEEPS else None


def kind_of(node: Any) -> str:
    """ "NllLoss" of "NllLossBackward0"; "AccumulateGrad" of "torch::autograd::AccumulateGrad"."""
    return str(node.name()).rpartition("::")[2].partition("Backward")[0]


def saved(node: Any, name: str) -> Any:
    """What torch keeps for the backward pass under that name; None where it is not there, or was changed since."""
    try:
        value = getattr(node, f"_saved_{name}")
    except (AttributeError, RuntimeError):
        return None
    return value.detach() if hasattr(value, "detach") else value
