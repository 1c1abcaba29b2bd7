"""What a step or a loss of the user's own minimises in `fit` on JAX: read once, after its first step.

Keras jits the step itself. JAX keeps the program that it has traced of it; asking for it traces nothing.
"""

from __future__ import annotations

import sys
from typing import Any

from ...journal.events import IndexOutOfRange, OutputSeen
from ..learning import outputs
from ..runtime import user_lines
from ..runtime.context import ProbeContext
from ..runtime.wrapping import Function
from . import jax_lookups, jax_loss, jitted_step

PART = "fit_step"
MODULE = "keras.src.backend.jax.trainer"


def observed(context: ProbeContext, function: Any, step: Any) -> Any:
    """The jitted step as Keras calls it; `step` is the method that was jitted."""
    model = getattr(step, "__self__", None)
    if getattr(step, "__name__", "") != "train_step" or model is None or outputs.own_loss(model) is None:
        return function
    return _read_once(context, function, step)


def _read_once(context: ProbeContext, function: Any, step: Any) -> Function:
    waits = [True]

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        if waits[0]:
            waits[0] = False
            context.guard(PART, _read, context, function, step, (args, kwargs), result)
        return result

    return wrapped


def _read(context: ProbeContext, function: Any, step: Any, given: Any, result: Any) -> None:
    tree = sys.modules["jax"].tree_util
    args, kwargs = given
    logs, _ = result
    if kwargs or len(args) != 2 or not isinstance(logs, dict) or context.fits.current is None:
        return
    jaxpr = function.trace(*args).jaxpr.jaxpr
    state, trained = len(tree.tree_leaves(args[0])), len(tree.tree_leaves(args[0][0]))
    names = sorted(logs)
    if len(jaxpr.invars) != len(tree.tree_leaves(args)) or "loss" not in logs or not trained:
        return
    one = jax_loss.read_logged(jaxpr, jaxpr.outvars[names.index("loss")], set(range(trained)), state)
    where = user_lines.of_function(outputs.own_loss(step.__self__))
    labels = set(one.targets) if one is not None else set()
    context.guard(PART, _look_up, context, jaxpr, tree.tree_leaves(args), state, labels, where)
    if one is None:
        return
    shape = one.prediction_shape
    context.record(
        OutputSeen(
            by="step", fit=context.fits.current.number, layer=one.layer, units=shape[-1] if len(shape) > 1 else 1,
            activation=one.activation, where=where, loss=one.loss, from_logits=one.from_logits, loss_where=where,
            part=one.part, prediction_shape=list(shape),
            target_shape=list(one.target_shape) if one.target_shape is not None else None,
        )
    )  # fmt: skip


def _look_up(
    context: ProbeContext, jaxpr: Any, arrays: list[Any], state: int, labels: set[int], where: str
) -> None:
    """Labels of the first batch that a step of the user's own looks up beyond the end, for which JAX raises nothing."""
    data = {place for place in range(state, len(arrays)) if jitted_step.is_integer(arrays[place])}
    for one in jax_lookups.found(jaxpr, data, set()):
        values = jitted_step.on_host(arrays[one.place])
        ids = jax_lookups.beyond(values, one) if values is not None else set()
        if not ids:
            continue
        low, high = int(values.min()) + one.shift, int(values.max()) + one.shift
        context.record(
            IndexOutOfRange(
                step=1, low=low, high=high, size=one.size, how=one.how, beyond=len(ids), label=one.place in labels,
                where=where,
            )
        )  # fmt: skip
