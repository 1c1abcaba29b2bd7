"""Gradients on torch that reach no weight: an optimizer that never steps, one whose parameters have no gradient when it
does, and gradients that are never cleared. Looked at in the first steps, and then at every doubling of their number.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from typing import Any

from ...journal.events import GradientsKept, GradientsNotApplied, StepsWithoutGradients
from ..loop_data import loss_terms, torch_layers
from ..runtime import torch_values, user_lines
from ..runtime.context import ProbeContext
from ..runtime.weak_references import weak
from . import hand_updates, loss_calls, torch_loss

PART = "torch_gradients"
_ALWAYS_FIRST = 50  # calls that are looked at
_FIRST_ON_GPU = 12  # where each look waits for the computation
_LEAVES_LOOKED_AT = 3  # calls of which all leaves are searched
_FEWEST_TIMES = 30  # gradients taken, without a step
_FEWEST_STEPS = 10  # looked at
_MOST_OPTIMIZERS = 50
_MOST_PARAMETERS = 200
_COMPARED, _SMALL = 4, 65_536


class Stepped:
    """What is known of one optimizer."""

    def __init__(self, optimizer: Any, where: str) -> None:
        self.optimizer: Callable[[], Any] = weak(optimizer)
        self.kind, self.where = type(optimizer).__name__, where
        self.steps = self.with_gradient = self.without = 0
        self.reached = False  # a backward pass left a gradient in one of its parameters
        self.frozen: int | None = None  # values of its parameters, where none of them may be changed
        self.watches = False  # between two steps that are looked at
        self.cleared = False
        self.kept = self.cleared_times = 0

    def last_parameter(self) -> Any:
        """Asked for at every step, where a list of all would cost more than the look."""
        groups = getattr(self.optimizer(), "param_groups", None) or []
        return next((group["params"][-1] for group in reversed(groups) if group["params"]), None)

    def parameters(self) -> list[Any]:
        groups = getattr(self.optimizer(), "param_groups", None) or []
        return [one for group in groups for one in group["params"][:_MOST_PARAMETERS]]


class TorchGradients:
    def __init__(self, context: ProbeContext) -> None:
        self._context = context
        self._fits = context.fits
        self._made: dict[int, Stepped] = {}
        self.new_run()

    def new_run(self) -> None:
        self._taken = 0
        self._where = ""
        self._of_other_tensors = False  # of an input, as for a saliency map
        self._weights: list[tuple[Callable[[], Any], str]] = []  # and what they were at the first gradient
        self._looking = False
        self._broken = False  # a loss was not finite
        self._watching = False  # an optimizer's gradients may be cleared before its next step
        self._stepped_at = ""

    @property
    def _quiet(self) -> bool:
        return self._fits.current is not None or self._fits.calls_open > 0

    def optimizer_made(self, optimizer: Any) -> None:
        where = user_lines.caller_line()
        if where and len(self._made) < _MOST_OPTIMIZERS:
            self._made[id(optimizer)] = Stepped(optimizer, where)

    # -- backward -----------------------------------------------------------------------------------------

    def backward_begins(self, loss: Any) -> None:
        if self._quiet:
            self._context.guard(loss_calls.PART, self._look_in_fit, loss)
            return
        self._taken += 1
        self._looking = _is_looked_at(self._taken, loss)
        if self._watching:
            self._watching = False
            for one in self._made.values():
                if one.watches and not one.cleared:
                    one.cleared = not _has_gradient(one.parameters()[-1:])
                    self._watching = self._watching or not one.cleared
        if not self._broken and loss.grad_fn is not None and not _is_finite(loss):
            self._broken = True
            self._context.guard(torch_layers.PART, self._context.torch_layers.broke, loss)
        terms = None
        if loss.grad_fn is not None:
            terms = self._context.guard(
                loss_terms.PART, self._context.loss_terms.differentiated, loss, torch_loss.terms
            )
        if self._looking and loss.grad_fn is not None:
            self._context.guard(loss_calls.PART, self._look_at_loss, loss, terms or {})
        if not self._made and not self._context.hand_updates.over:
            self._context.guard(
                hand_updates.PART, self._context.hand_updates.taken, lambda: torch_loss.leaves(loss)
            )
        if self._taken <= _LEAVES_LOOKED_AT:
            self._look_at_leaves(loss)

    def backward_ends(self) -> None:
        for one in self._made.values() if self._looking else ():
            one.reached = one.reached or _has_gradient(one.parameters())

    def _look_in_fit(self, loss: Any) -> None:
        calls = self._context.loss_calls
        fit = calls.fit_with_own_step
        if fit is not None and calls.wants_gradients and loss.grad_fn is not None:
            calls.seen_in_fit(torch_loss.compared(loss), fit)

    def _look_at_loss(self, loss: Any, terms: dict[str, Any]) -> None:
        compared = torch_loss.compared(loss)
        below = {name: torch_loss.compared(term) for name, term in terms.items()}
        compared = loss_terms.with_terms(compared, below)
        self._context.loss_calls.seen(compared, loss_calls.line_of("backward"))
        target = compared[0].target if len(compared) == 1 else None
        self._context.guard(torch_layers.PART, self._context.torch_layers.differentiated, loss, target)

    def _look_at_leaves(self, loss: Any) -> None:
        leaves = torch_loss.leaves(loss)
        known = {id(one) for made in self._made.values() for one in made.parameters()}
        self._of_other_tensors = self._of_other_tensors or any(
            type(one).__name__ != "Parameter" for one in leaves
        )
        if self._taken == 1:
            self._where = user_lines.caller_line()
            weights = [one for one in leaves if id(one) in known and one.numel() <= _SMALL][-_COMPARED:]
            self._weights = [(weak(one), _digest(one)) for one in weights]
            self._context.at_exit.append(self.report_at_exit)

    # -- steps --------------------------------------------------------------------------------------------

    def stepped(self, optimizer: Any) -> None:
        if self._quiet:
            return
        one = self._made.get(id(optimizer))
        if one is None:
            return
        one.steps += 1
        if one.watches:
            one.watches = False
            one.kept += not one.cleared
            one.cleared_times += one.cleared
        last = one.last_parameter()
        if last is None:
            one.without, one.frozen = one.without + 1, 0
            self._stepped_at = self._stepped_at or user_lines.caller_line()
        elif _is_looked_at(one.steps, last):
            parameters = one.parameters()
            has = _has_gradient(parameters)
            one.with_gradient += has
            one.without += not has
            one.frozen = _frozen(parameters) if not has else None
            self._context.guard(torch_layers.PART, self._context.torch_layers.stepped, parameters)
            one.watches, one.cleared = _has_gradient(parameters[-1:]), False
            self._watching = self._watching or one.watches
            self._stepped_at = self._stepped_at or user_lines.caller_line()

    # -- the end --------------------------------------------------------------------------------------------

    def report_at_exit(self) -> None:
        made = list(self._made.values())
        steps = sum(one.steps for one in made)
        if made and not steps:
            self._report_never_applied(made[-1])
        elif not any(one.with_gradient for one in made):
            self._report_without(max(made, key=lambda one: one.steps, default=None))
        kept = [one for one in made if one.kept >= _FEWEST_STEPS and not one.cleared_times]
        for one in kept[:1]:
            self._context.record(GradientsKept(steps=one.steps, where=self._stepped_at, optimizer=one.kind))

    def _report_never_applied(self, made: Stepped) -> None:
        kept = [(weight(), before) for weight, before in self._weights]
        same = bool(kept) and all(
            one is not None and before and _digest(one) == before for one, before in kept
        )
        gone = any(one.optimizer() is None for one in self._made.values())
        if same and not gone and not self._of_other_tensors and self._taken >= _FEWEST_TIMES:
            self._context.record(
                GradientsNotApplied(
                    where=self._where, times=self._taken, optimizer=made.kind, optimizer_where=made.where
                )
            )

    def _report_without(self, one: Stepped | None) -> None:
        if one is not None and one.without >= _FEWEST_STEPS and self._taken >= _FEWEST_STEPS:
            self._context.record(
                StepsWithoutGradients(
                    steps=one.steps,
                    reached=one.reached,
                    where=self._stepped_at,
                    taken_where=self._where,
                    optimizer=one.kind,
                    optimizer_where=one.where,
                    frozen=one.frozen,
                )
            )


def _frozen(parameters: list[Any]) -> int | None:
    """How many values they have, where training may change none of them."""
    if not parameters or any(one.requires_grad for one in parameters):
        return None
    return sum(one.numel() for one in parameters)


def _is_looked_at(number: int, tensor: Any) -> bool:
    """The first ones, and every doubling. Never while a CUDA graph is recorded."""
    if tensor.device.type == "cpu":
        return number <= _ALWAYS_FIRST or number & (number - 1) == 0
    return (number <= _FIRST_ON_GPU or number & (number - 1) == 0) and not torch_values.is_recorded()


def _is_finite(loss: Any) -> bool:
    """Of a number in host memory; of another one it is not known, and would be waited for."""
    return loss.device.type != "cpu" or loss.dim() > 0 or math.isfinite(loss.item())


def _has_gradient(parameters: list[Any]) -> bool:
    """Of all of them, one has a gradient that is not all zeros. The last ones are asked first: they are small."""
    for one in reversed(parameters):
        gradient = one.grad
        if gradient is not None and (gradient.is_sparse or bool(gradient.any())):
            return True
    return False


def _digest(weight: Any) -> str:
    here = torch_values.on_host(weight)
    return hashlib.sha256(here.float().numpy().tobytes()).hexdigest() if here is not None else ""
