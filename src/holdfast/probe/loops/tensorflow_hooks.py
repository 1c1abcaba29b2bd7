"""Observers of TensorFlow and Keras without `fit`: tf.function, iterators, tapes, optimizers, train_on_batch."""

from __future__ import annotations

import itertools
import sys
from typing import Any

from ..loop_data import eager_operations
from ..runtime.context import ProbeContext
from ..runtime.hook import Hook
from ..runtime.nested_values import leaves
from ..runtime.wrapping import Function, observe, observe_iterator, replace
from . import tensorflow_loss

PART = "tensorflow_hooks"


def hook_functions(context: ProbeContext, module: Any) -> None:
    """`tf.function` objects. Inside a fit their calls are only counted: this runs at every step."""
    kind = getattr(module, "Function", None)
    if kind is not None:
        replace(kind, "__call__", lambda original: _function_call(context, original))


def _function_call(context: ProbeContext, original: Function) -> Function:
    loop, numbers = context.loop, itertools.count()

    def wrapped(self: Any, *args: Any, **kwargs: Any) -> Any:
        if context.closed or PART in context.failed_parts:
            return original(self, *args, **kwargs)
        counts = loop.fits.current is None and context.guard(PART, loop.function_begins, self)
        stack = loop.traces.stack
        stack.append((self, next(numbers)))
        try:
            result = original(self, *args, **kwargs)
        except BaseException as error:
            stack.pop()
            if counts:
                context.guard(PART, loop.function_failed, self, error)
            raise
        stack.pop()
        if counts:
            context.guard(PART, loop.function_ends, self, result, (args, kwargs))
        return result

    return wrapped


def hook_iterators(context: ProbeContext, module: Any) -> None:
    watch_iterator(context, module.OwnedIterator, PART)
    watch_iterator(context, module.OwnedIterator, PART, "get_next")


def watch_iterator(context: ProbeContext, kind: type, part: str, method: str = "__next__") -> None:
    loop = context.loop
    observe_iterator(
        context, kind, part,
        before=loop.next_begins, after=loop.next_ends, exhausted=loop.exhausted, failed=loop.next_failed,
        method=method,
    )  # fmt: skip


def hook_tape(context: ProbeContext, module: Any) -> None:
    loop = context.loop

    def begins(args: Any, kwargs: Any) -> None:
        target = args[1] if len(args) > 1 else kwargs.get("target")
        loop.gradient_taken(target)
        context.guard(eager_operations.PART, operations.gradient_begins)
        context.guard(tensorflow_loss.PART, tensorflow_loss.differentiated, context, target)
        return args[2] if len(args) > 2 else kwargs.get("sources")

    def ends(sources: Any, gradients: Any) -> None:
        listed = isinstance(sources, (list, tuple)) and isinstance(gradients, (list, tuple))
        given = (sources, gradients) if listed else (None, None)
        context.guard(eager_operations.PART, operations.gradient_ends, *given)

    operations = context.eager_operations
    observe(context, module.GradientTape, "gradient", PART, before=begins, after=ends)
    observe(
        context, module.GradientTape, "__enter__", eager_operations.PART,
        before=lambda args, kwargs: operations.tape_opened(),
    )  # fmt: skip


def hook_optimizer3(context: ProbeContext, module: Any) -> None:
    """Keras 3: `apply_gradients` calls `apply`; on JAX a loop calls `stateless_apply`."""
    loop = context.loop
    for name in ("apply", "stateless_apply"):
        observe(
            context, module.BaseOptimizer, name, PART,
            before=lambda args, kwargs: (args[0], _is_eager(args[1:], kwargs), _gradients(args, kwargs)),
            after=lambda token, _: loop.applied(*token) if token else None,
        )  # fmt: skip


def hook_optimizer2(context: ProbeContext, module: Any) -> None:
    """`apply_gradients` of the optimizers of Keras 2. Keras 3 has a module of that name too, without the base class.

    The outermost method alone: `Optimizer` calls that of `_BaseOptimizer`, and a step would count twice.
    """
    if not hasattr(module, "_BaseOptimizer") and not hasattr(module, "OptimizerV2"):
        return
    loop = context.loop
    kinds = [getattr(module, name, None) for name in ("Optimizer", "_BaseOptimizer", "OptimizerV2")]
    own = [kind for kind in kinds if kind is not None and "apply_gradients" in vars(kind)]
    if own:
        observe(
            context, own[0], "apply_gradients", PART,
            before=lambda args, kwargs: args[0],
            after=lambda optimizer, _: loop.applied(optimizer, _executing_eagerly()),
        )  # fmt: skip


def hook_trainer(context: ProbeContext, module: Any) -> None:
    """`train_on_batch` of the trainer of one backend."""
    for kind in [value for value in vars(module).values() if isinstance(value, type)]:
        if kind.__module__ == module.__name__ and "fit" in vars(kind):
            _watch_train_on_batch(context, kind)


def hook_model2(context: ProbeContext, module: Any) -> None:
    """`train_on_batch` of the Model of Keras 2."""
    _watch_train_on_batch(context, module.Model)


def _watch_train_on_batch(context: ProbeContext, kind: Any) -> None:
    loop = context.loop
    observe(
        context, kind, "train_on_batch", PART,
        before=lambda args, kwargs: (loop.batch_begins(*args, **kwargs), args[0]),
        after=lambda token, result: loop.batch_ends(token[0], result, token[1]) if token else None,
        failed=lambda token, error: loop.batch_ends(False, None, None),
    )  # fmt: skip


def _gradients(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = args[1] if len(args) > 1 else kwargs.get("grads")
    return given if isinstance(given, (list, tuple)) else None


def _is_eager(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether the first gradient is a value and not a symbol of a function that is being traced."""
    for value in [*args, *kwargs.values()]:
        for leaf in leaves(value if not hasattr(value, "__next__") else None):
            kind = type(leaf).__name__
            if "Tracer" in kind or kind in ("SymbolicTensor", "KerasTensor"):
                return False
            if hasattr(leaf, "dtype") and not hasattr(leaf, "assign"):
                return True
    return _executing_eagerly()  # of an empty list, where no weight is trainable


def _executing_eagerly() -> bool:
    eager = sys.modules.get("tensorflow.python.eager.context")
    return bool(eager.executing_eagerly()) if eager is not None else True


TENSORFLOW_HOOKS = (
    Hook(PART, "tensorflow.python.eager.polymorphic_function.polymorphic_function", hook_functions),
    Hook(PART, "tensorflow.python.eager.def_function", hook_functions),  # before TensorFlow 2.11
    Hook(PART, "tensorflow.python.data.ops.iterator_ops", hook_iterators),
    Hook(PART, "tensorflow.python.eager.backprop", hook_tape),
)
KERAS_HOOKS = (
    Hook(PART, "keras.src.backend.tensorflow.trainer", hook_trainer),
    Hook(PART, "keras.src.backend.jax.trainer", hook_trainer),
    Hook(PART, "keras.src.backend.torch.trainer", hook_trainer),
    Hook(PART, "keras.src.optimizers.base_optimizer", hook_optimizer3),
)
KERAS2_HOOKS = (
    Hook(PART, "engine.training", hook_model2),
    Hook(PART, "optimizers.optimizer", hook_optimizer2),
    Hook(PART, "optimizers.optimizer_experimental.optimizer", hook_optimizer2),
    Hook(PART, "optimizers.legacy.optimizer_v2", hook_optimizer2),
    Hook(PART, "optimizers.optimizer_v2.optimizer_v2", hook_optimizer2),
    Hook(PART, "optimizer_v2.optimizer_v2", hook_optimizer2),
)
