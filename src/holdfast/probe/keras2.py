"""tf_keras, and Keras 2 itself, which is the same code under another name."""

from __future__ import annotations

import functools
from typing import Any

from .fit import callback_list, model_saving, stop_training, trainer_hooks
from .inputs import datasets
from .loops import custom_loop
from .runtime import user_lines
from .runtime.context import ProbeContext
from .runtime.wrapping import observe
from .state import fit_log, model_facts


def hook_training(session: ProbeContext, module: Any) -> None:
    """`tf_keras.src.engine.training`: the Model class has the trainer's methods itself."""
    kind = module.Model
    trainer_hooks.watch_trainer(session, kind)
    custom_loop.watch_train_on_batch(session, kind)
    model_facts.watch_compile(session, kind)
    stop_training.install(session, kind)
    model_saving.hook_keras2(session, kind)


def hook_callbacks(session: ProbeContext, module: Any) -> None:
    """`tf_keras.src.callbacks`. Keras 3 has a module of that name too, with another list in it."""
    kind = getattr(module, "CallbackList", None)
    if kind is None or not hasattr(kind, "_process_logs"):
        return
    callback_list.hook_list(session, kind)
    original = kind._process_logs

    @functools.wraps(original)
    def kept(self: Any, logs: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(self, logs, *args, **kwargs)
        callback_list.keep_logs(result)
        return result

    kind._process_logs = kept


def hook_data_adapter(session: ProbeContext, module: Any) -> None:
    observe(
        session, module.DataHandler, "__init__", "datasets",
        before=lambda args, kwargs: (args[0], args, kwargs),
        after=lambda token, _: _handler_made(session, *token) if token else None,
    )  # fmt: skip


def _handler_made(session: ProbeContext, handler: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    fit = fit_log.of(session).current
    role = datasets.role_now(session, fit)
    planned = getattr(handler, "_inferred_steps", None)
    planned = planned if isinstance(planned, int) else None
    if role == "validation":
        session.seen["validation_planned"] = planned
    elif role == "train" and fit is not None:
        fit.train_data_seen = True
        fit.planned_steps = planned
    datasets.say(session, _describe(session, handler, role, args, kwargs))


def _describe(
    session: ProbeContext, handler: Any, role: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    adapter = type(getattr(handler, "_adapter", None)).__name__
    where = user_lines.caller_line()
    given = [
        kwargs.get("x", args[1] if len(args) > 1 else None),
        kwargs.get("y", args[2] if len(args) > 2 else None),
    ]
    arrays = [array for array in datasets.leaves(given) if datasets.plain_array(array) is not None]
    if "Tensor" in adapter and arrays:
        return datasets.of_arrays(session, arrays, getattr(handler, "_inferred_steps", None), role, where)
    return datasets.of_tf_data(session, handler._dataset, role, where)


def hook_optimizer(session: ProbeContext, module: Any) -> None:
    """`apply_gradients` of the optimizers of Keras 2. Keras 3 has a module of that name too, without the base class.

    The outermost method alone: `Optimizer` calls that of `_BaseOptimizer`, and a step would count twice.
    """
    loop = custom_loop.of(session)
    if not hasattr(module, "_BaseOptimizer") and not hasattr(module, "OptimizerV2"):
        return
    kinds = [getattr(module, name, None) for name in ("Optimizer", "_BaseOptimizer", "OptimizerV2")]
    own = [kind for kind in kinds if kind is not None and "apply_gradients" in vars(kind)]
    if own:
        observe(
            session, own[0], "apply_gradients", custom_loop.PART,
            before=lambda args, kwargs: args[0],
            after=lambda optimizer, _: loop.applied(optimizer, _executing_eagerly()),
        )  # fmt: skip


def _executing_eagerly() -> bool:
    import sys

    context = sys.modules.get("tensorflow.python.eager.context")
    return bool(context.executing_eagerly()) if context is not None else True
