"""torch's GradScaler: the steps that it leaves out because gradients are not finite, and gradients that are clipped
while they are still multiplied by its scale.

The scaler waits for the device at every step; what is read here is read behind that, at doublings of a count.
"""

from __future__ import annotations

import math
from typing import Any

from ...journal.events import ScalerSeen
from ..runtime import user_lines
from ..runtime.context import ProbeContext
from ..runtime.hook import Hook
from ..runtime.weak_references import weak
from ..runtime.wrapping import observe
from . import half_range

PART = "loss_scaler"
_FEWEST_IN_A_ROW = 4  # a scaler begins with a scale that is too large, and soon finds the right one
_MOST_NORMS = 8
_MOST_PARAMETERS = 500
_MOST_NODES = 600


class _Counted:
    """The fields of the event."""

    def __init__(self) -> None:
        self.steps = self.skipped = self.in_a_row = self.longest = 0
        self.scale: float | None = None
        self.half: bool | None = None
        self.loss_finite: bool | None = None
        self.unscaled = False
        self.norms: list[float] = []
        self.where = ""


class LossScaler:
    def __init__(self, context: ProbeContext) -> None:
        self._context = context
        self.new_run()

    def new_run(self) -> None:
        self._seen = _Counted()
        self._scaled: Any = lambda: None  # the newest result of `scale`
        self._original: Any = None
        self._stepped = False  # the optimizer has made the step that the scaler is asked for
        self._wants_types = False
        self._fused = False
        self._written: ScalerSeen | None = None

    # -- the loss ---------------------------------------------------------------------------------------

    def scaled(self, original: Any, result: Any) -> None:
        if hasattr(original, "detach") and hasattr(result, "detach"):
            self._original, self._scaled = original.detach(), weak(result)

    def original(self, loss: Any) -> Any:
        """The loss as the script computes it, where `backward` is given what the scaler made of it."""
        return self._original if self._original is not None and self._scaled() is loss else loss.detach()

    def backward_begins(self, loss: Any) -> None:
        if self._wants_types:
            self._wants_types = False
            self._seen.half = half_range.computes_in_half(loss, _MOST_NODES)

    @property
    def in_a_row(self) -> int:
        """Steps that were left out, the newest ones."""
        return self._seen.in_a_row

    # -- steps ------------------------------------------------------------------------------------------

    def step_begins(self, scaler: Any, optimizer: Any) -> Any:
        if not scaler.is_enabled():
            return None
        if not self._seen.steps:
            self._seen.where = user_lines.caller_line()
            self._context.at_exit.append(self._write)
        self._stepped = False
        seen = self._seen
        seen.steps += 1
        self._fused = bool(getattr(optimizer, "_step_supports_amp_scaling", False))
        if seen.steps > 1 and not seen.steps & (seen.steps - 1) and len(seen.norms) < _MOST_NORMS:
            self._look(scaler, optimizer)
        return scaler

    def optimizer_stepped(self) -> None:
        self._stepped = True

    def step_ends(self, scaler: Any) -> None:
        if scaler is None or self._fused:
            return
        seen = self._seen
        if self._stepped:
            seen.in_a_row = 0
            return
        seen.skipped += 1
        seen.in_a_row += 1
        seen.longest = max(seen.longest, seen.in_a_row)
        self._wants_types |= seen.in_a_row == _FEWEST_IN_A_ROW - 1
        if seen.in_a_row >= _FEWEST_IN_A_ROW and not seen.in_a_row & (seen.in_a_row - 1):
            seen.scale = float(scaler.get_scale())
            seen.loss_finite = _is_finite(self._original)
            self._write()

    def _look(self, scaler: Any, optimizer: Any) -> None:
        state = getattr(scaler, "_per_optimizer_states", {}).get(id(optimizer)) or {}
        if getattr(state.get("stage"), "value", 0) != 0:  # the script has unscaled them; READY is 0
            self._seen.unscaled = True
            return
        norm = _norm(optimizer)
        if norm is not None and math.isfinite(norm):
            self._seen.scale = float(scaler.get_scale())
            self._seen.norms.append(norm)

    def _write(self) -> None:
        newest = ScalerSeen(**{**vars(self._seen), "norms": list(self._seen.norms)})
        if newest != self._written:
            self._written = newest
            self._context.record(newest)


def _is_finite(loss: Any) -> bool | None:
    return None if loss is None else bool(loss.isfinite().all())


def _norm(optimizer: Any) -> float | None:
    """Of all gradients together; None where there are none, or too many."""
    parameters = [one for group in optimizer.param_groups for one in group["params"]]
    slopes = [one.grad.detach() for one in parameters if getattr(one, "grad", None) is not None]
    if not slopes or len(slopes) > _MOST_PARAMETERS or any(one.is_sparse for one in slopes):
        return None
    return math.sqrt(sum(float(one.float().norm()) ** 2 for one in slopes))


def hook(context: ProbeContext, module: Any) -> None:
    """`torch.amp.grad_scaler`; before torch 2.3 `torch.cuda.amp.grad_scaler`"""
    kind, scaler = getattr(module, "GradScaler", None), context.loss_scaler
    if kind is None:
        return
    observe(
        context, kind, "scale", PART,
        before=lambda args, kwargs: args[1] if len(args) > 1 else kwargs.get("outputs"),
        after=scaler.scaled,
    )  # fmt: skip
    observe(
        context, kind, "step", PART,
        before=lambda args, kwargs: scaler.step_begins(
            args[0], args[1] if len(args) > 1 else kwargs.get("optimizer")
        ),
        after=lambda token, _: scaler.step_ends(token),
    )  # fmt: skip


TORCH_HOOKS = (
    Hook(PART, "torch.amp.grad_scaler", hook),
    Hook(PART, "torch.cuda.amp.grad_scaler", hook),
)
