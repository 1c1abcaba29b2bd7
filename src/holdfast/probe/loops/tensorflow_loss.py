"""Which loss a loop on TensorFlow or Keras differentiates: by the graph of a tf.function, or a call of a Keras loss."""

from __future__ import annotations

import sys
from typing import Any

from ..loop_data import loss_terms, step_arguments
from ..loop_data.eager_operations import Symbol
from ..loop_data.loss_terms import in_frame_of, names_below, with_terms
from ..runtime import user_lines
from ..runtime.context import ProbeContext
from ..runtime.hook import Hook
from ..runtime.wrapping import Function, replace
from . import loss_calls
from .loss_calls import ComparedValues

PART = "tensorflow_loss"
_MOST_NODES = 120
_CALLS = 50  # of losses on values, that are looked at
_SCALES = ("Mul", "AddV2", "Add", "AddN", "Sub", "Sum")
_SAME_VALUES = ("Identity", "Reshape", "Squeeze", "ExpandDims", "Cast", "StopGradient", "Transpose")
_CLIPS = ("Log", "Maximum", "Minimum", "ClipByValue", "RealDiv", "AddV2")
_ACTIVATIONS = {
    "Softmax": "softmax", "LogSoftmax": "log_softmax", "Sigmoid": "sigmoid", "Relu": "relu", "Relu6": "relu6",
    "Tanh": "tanh", "Elu": "elu", "Selu": "selu", "Softplus": "softplus", "LeakyRelu": "leaky_relu",
    "Exp": "exponential",
}  # fmt: skip
_MOST_IN_BRANCH = 6  # operations in a row, in one of two branches
_LINEAR = ("BiasAdd", "MatMul", "Conv2D", "BatchMatMulV2", "Einsum")
_CROSS_ENTROPIES = {
    "SparseSoftmaxCrossEntropyWithLogits": "sparse_categorical_crossentropy",
    "SoftmaxCrossEntropyWithLogits": "categorical_crossentropy",
}
#: Losses of Keras whose arguments mean what their names say.
_KNOWN = (
    "binary_crossentropy", "categorical_crossentropy", "sparse_categorical_crossentropy", "mean_squared_error",
    "mean_absolute_error", "huber", "hinge", "squared_hinge", "categorical_hinge", "kl_divergence", "poisson",
    "log_cosh", "mean_squared_logarithmic_error", "mean_absolute_percentage_error", "cosine_similarity",
    "binary_focal_crossentropy", "categorical_focal_crossentropy",
)  # fmt: skip


# -- the graph of a tf.function -------------------------------------------------------------------------


def in_graph(target: Any) -> list[ComparedValues]:
    """The losses below a symbol that a tape differentiates."""
    return _below(target, _known) or _below(target, _of_unequal)[:1]


def _below(target: Any, recognise: Any) -> list[ComparedValues]:
    found: list[ComparedValues] = []
    pending = [(target, False)]
    for _ in range(_MOST_NODES):
        if not pending or len(found) >= 4:
            break
        tensor, part = pending.pop(0)
        kind = tensor.op.type
        one = recognise(tensor, kind, part)
        if one is not None:
            found.append(one._replace(node=_node(tensor)))
            continue
        below = [one for one in tensor.op.inputs if one.dtype.is_floating and one.op.type != "Const"]
        below = below[:1] if kind == "DivNoNan" else below  # the mean of a Keras loss
        scaled = part or (kind in _SCALES and not _of_keras_mean(kind, tensor))
        pending += [(child, scaled) for child in below]
    return found


def terms(target: Any, named: dict[str, Any]) -> dict[str, Any]:
    """Those scalars that the symbol is put together from."""
    names = {_node(one): name for name, one in named.items()}
    return {name: named[name] for name in names_below(target, names, _node, _scalars_below)}


def _scalars_below(tensor: Any) -> list[Any]:
    return [one for one in tensor.op.inputs if _shape(one) == ()]


def _node(tensor: Any) -> Any:
    """Of a graph by its name, which is its own; of an eager step by the object that represents it."""
    return id(tensor.op) if isinstance(tensor, Symbol) else tensor.op.name


def _of_keras_mean(kind: str, tensor: Any) -> bool:
    """A Keras loss sums and divides; only a sum that is divided again is a mean."""
    return kind == "Sum" and any(user.type == "DivNoNan" for user in tensor.consumers())


def _known(tensor: Any, kind: str, part: bool) -> ComparedValues | None:
    inputs = list(tensor.op.inputs)
    if kind in _CROSS_ENTROPIES:
        prediction, clipped = _behind(inputs[0], _CLIPS if _through_log(inputs[0]) else ())
        return _compared(_CROSS_ENTROPIES[kind], not clipped, prediction, inputs[1], part)
    if kind in ("Square", "Pow", "Abs") and inputs[0].op.type in ("Sub",):
        sides = list(inputs[0].op.inputs)
        computed = [side for side in sides if _depends_on_weights(side)]
        if (kind == "Pow" and _constant(inputs[1]) != 2.0) or len(sides) != 2 or len(computed) != 1:
            return None
        target = sides[1] if computed[0] is sides[0] else sides[0]
        loss = "mean_absolute_error" if kind == "Abs" else "mean_squared_error"
        return _compared(loss, None, computed[0], target, part)
    if kind in ("SelectV2", "Select"):
        return _huber(inputs[1:], part)
    if kind == "Mul":
        return _weighted_logs(inputs, part)
    if kind == "SquaredDifference":
        computed = [side for side in inputs if _depends_on_weights(side)]
        other = [side for side in inputs if side is not computed[0]] if len(computed) == 1 else []
        return _compared("mean_squared_error", None, computed[0], other[0], part) if other else None
    return None


def _huber(branches: list[Any], part: bool) -> ComparedValues | None:
    """Small differences are squared, and of large ones the size counts."""
    found = [one for one in (_in_branch(branch, part) for branch in branches) if one is not None]
    squared = [one for one in found if one.loss == "mean_squared_error"]
    sizes = [one for one in found if one.loss == "mean_absolute_error"]
    return squared[0]._replace(loss="huber") if squared and sizes else None


def _in_branch(tensor: Any, part: bool) -> ComparedValues | None:
    for _ in range(_MOST_IN_BRANCH):
        if tensor.op.type in ("Square", "Pow", "Abs", "SquaredDifference"):
            return _known(tensor, tensor.op.type, part)
        below = [one for one in tensor.op.inputs if one.dtype.is_floating and one.op.type != "Const"]
        if len(below) != 1:
            return None
        tensor = below[0]
    return None


def _of_unequal(tensor: Any, kind: str, part: bool) -> ComparedValues | None:
    """A difference of any other loss, between a prediction and a target that have not the same number of sides."""
    if kind != "Sub":
        return None
    sides = list(tensor.op.inputs)
    computed = [side for side in sides if _depends_on_weights(side)]
    if len(computed) != 1 or any(side.op.type == "Const" or not _shape(side) for side in sides):
        return None
    target = sides[1] if computed[0] is sides[0] else sides[0]
    if len(_shape(target)) == len(_shape(computed[0])):
        return None
    return _compared("difference", None, computed[0], target, part)


def _weighted_logs(inputs: list[Any], part: bool) -> ComparedValues | None:
    """Labels times logarithms of probabilities, written out."""
    logs = [one for one in inputs if one.op.type == "Log" and _depends_on_weights(one)]
    others = [one for one in inputs if one is not logs[0]] if len(logs) == 1 else []
    if len(others) != 1 or _depends_on_weights(others[0]) or others[0].op.type == "Const":
        return None
    prediction, normalised = logs[0].op.inputs[0], False
    for _ in range(8):
        if prediction.op.type not in _CLIPS or not len(prediction.op.inputs):
            break
        normalised = normalised or prediction.op.type == "RealDiv"
        prediction = prediction.op.inputs[0]
    shape = _shape(prediction)
    several = bool(shape) and len(shape) > 1 and (shape[-1] or 0) > 1
    loss = "categorical_crossentropy" if several else "binary_crossentropy"
    return _compared(loss, False, prediction, others[0], part)._replace(
        written_out=several and not normalised
    )


def _compared(loss: str, from_logits: Any, prediction: Any, target: Any, part: bool) -> ComparedValues:
    activation, layer = _made_by(prediction)
    target_shape = _shape(_behind(target, ("Cast", "Reshape", "ExpandDims"))[0])
    return ComparedValues(
        loss, from_logits, activation, layer, _shape(prediction), target_shape, part,
        prediction=prediction, target=target,
    )  # fmt: skip


def _through_log(tensor: Any) -> bool:
    return bool(tensor.op.type == "Log")


def _behind(tensor: Any, kinds: tuple[str, ...]) -> tuple[Any, bool]:
    """What lies behind operations of these kinds, and whether there were any."""
    passed = False
    for _ in range(8):
        if tensor.op.type not in kinds or not len(tensor.op.inputs):
            break
        tensor, passed = tensor.op.inputs[0], True
    return tensor, passed


def _depends_on_weights(tensor: Any) -> bool:
    pending, seen = [tensor], 0
    while pending and seen < _MOST_NODES:
        one = pending.pop()
        seen += 1
        if one.op.type in ("ReadVariableOp", "VariableV2", "ResourceGather"):
            return True
        pending += [child for child in one.op.inputs if child.op.type != "Const"]
    return False


def _constant(tensor: Any) -> float | None:
    try:
        if isinstance(tensor, Symbol):
            return float(tensor.value)
        value = sys.modules["tensorflow"].get_static_value(tensor)
        return float(value) if value is not None else None
    except (TypeError, ValueError):
        return None


def _made_by(tensor: Any) -> tuple[str, str]:
    for _ in range(8):
        kind = tensor.op.type
        if kind in _ACTIVATIONS:
            return _ACTIVATIONS[kind], kind
        if kind in _LINEAR or (kind in ("AddV2", "Add") and tensor.op.inputs[0].op.type in _LINEAR):
            return "linear", kind
        if kind not in _SAME_VALUES or not len(tensor.op.inputs):
            return "", kind
        tensor = tensor.op.inputs[0]
    return "", ""


def _shape(tensor: Any) -> Any:
    shape = getattr(tensor, "shape", None)
    if shape is None or getattr(shape, "rank", len(shape)) is None:
        return None
    return tuple(None if side is None else int(side) for side in shape)


# -- a call of a Keras loss -----------------------------------------------------------------------------


def hook_loss(context: ProbeContext, module: Any) -> None:
    replace(module.Loss, "__call__", lambda original: _observed(context, original))


def _observed(context: ProbeContext, original: Function) -> Function:
    calls = [0]  # on values; a tf.function calls its losses only while it is traced

    def wrapped(self: Any, y_true: Any, y_pred: Any, *args: Any, **kwargs: Any) -> Any:
        loop = context.loop
        if calls[0] >= _CALLS and not loop.traces.stack:
            return original(self, y_true, y_pred, *args, **kwargs)
        result = original(self, y_true, y_pred, *args, **kwargs)
        if not loop.quiet or (loop.traces.stack and context.loss_calls.fit_with_own_step is not None):
            calls[0] += 1
            weighted = any(one is not None for one in (*args, *kwargs.values()))
            context.guard(PART, _called, context, (self, y_true, y_pred), weighted, result)
        return result

    return wrapped


def _called(context: ProbeContext, given_to: tuple[Any, Any, Any], weighted: bool, result: Any) -> None:
    loss, y_true, y_pred = given_to
    name = str(getattr(getattr(loss, "fn", None), "__name__", ""))
    if name not in _KNOWN or not hasattr(y_pred, "shape"):
        return
    given = getattr(loss, "_fn_kwargs", None) or {}
    from_logits = given.get("from_logits") if "crossentropy" in name else None
    if hasattr(y_pred, "detach"):  # torch, where the backward pass shows more
        return
    symbolic = not hasattr(y_pred, "numpy")
    if context.loop.quiet and not hasattr(type(y_pred), "op"):  # a step of fit on JAX is read elsewhere
        return
    in_graph_of_tensorflow = symbolic and hasattr(type(y_pred), "op")
    computed = y_pred if in_graph_of_tensorflow else context.eager_operations.symbol(y_pred)
    activation, layer = _made_by(computed) if computed is not None else ("", "")
    if in_graph_of_tensorflow:
        _place_arguments(context, y_pred, y_true)
    elif computed is not None:
        target = context.eager_operations.symbol(y_true)
        context.eager_operations.compared(
            computed, target if target is not None else Symbol(y_true, "Placeholder", [])
        )
    behind = getattr(y_pred, "_keras_logits", None) is not None and "crossentropy" in name
    one = ComparedValues(
        name,
        from_logits if from_logits is None else bool(from_logits),
        activation,
        layer,
        _shape(y_pred),
        _shape(y_true),
        part=weighted or str(getattr(loss, "reduction", "")) not in ("sum_over_batch_size", "mean"),
        reads_behind=behind,
        prediction=None if symbolic else y_pred,
        target=None if symbolic else y_true,
    )
    if symbolic and not in_graph_of_tensorflow:  # JAX, whose gradients show no loss
        context.loss_calls.seen([one._replace(part=True)], user_lines.caller_line())
    else:
        context.loss_calls.keras_called(one, result)


def differentiated(context: ProbeContext, target: Any) -> None:
    """A tape takes the gradient of this: a loss that Keras computed for it, or one that its graph shows."""
    calls, loop = context.loss_calls, context.loop
    fit = calls.fit_with_own_step if loop.quiet else None
    if loop.quiet and fit is None:
        return
    find = _eager_terms(context.eager_operations) if hasattr(target, "numpy") and fit is None else None
    named = context.guard(loss_terms.PART, context.loss_terms.differentiated, target, find) if find else None
    if not calls.wants_gradients:
        return
    if find is None and hasattr(type(target), "op"):
        name, others = in_frame_of(target)
        context.loss_terms.loss_name, named = name or context.loss_terms.loss_name, terms(target, others)
    called = calls.take_called()
    if called:
        whole = len(called) == 1 and called[0][1] is target
        losses = [
            one._replace(part=one.part or not whole, term=_name_of(result, named)) for one, result in called
        ]
    else:
        losses = _found_in(context, target, named or {})
    if fit is not None:
        calls.seen_in_fit(losses, fit)
        return
    stack = loop.traces.stack
    function = getattr(stack[0][0], "_python_function", None) if stack else None
    calls.seen(
        losses, loss_calls.line_in(function) if function is not None else loss_calls.line_of("gradient")
    )


def _name_of(result: Any, named: dict[str, Any] | None) -> str:
    return next((name for name, one in (named or {}).items() if one is result), "")


def _found_in(context: ProbeContext, target: Any, named: dict[str, Any]) -> list[ComparedValues]:
    """By the graph of a tf.function, or by the operations of an eager step."""
    if hasattr(target, "numpy"):
        operations = context.eager_operations
        symbol = operations.symbol(target)
        found = in_graph(symbol) if symbol is not None else []
        below = {name: operations.symbol(one) for name, one in named.items()}
        found = with_terms(found, {name: in_graph(one) for name, one in below.items() if one is not None})
        for one in found[:1]:
            context.eager_operations.compared(one.prediction, one.target)
        return [one._replace(prediction=one.prediction.value, target=one.target.value) for one in found]
    found = in_graph(target) if hasattr(type(target), "op") else []
    found = with_terms(found, {name: in_graph(one) for name, one in named.items()})
    for one in found[:1]:
        _place_arguments(context, one.prediction, one.target)
    return [one._replace(prediction=None, target=None) for one in found]


def _eager_terms(operations: Any) -> Any:
    def find(target: Any, named: dict[str, Any]) -> dict[str, Any]:
        symbol = operations.symbol(target)
        symbols = {name: operations.symbol(one) for name, one in named.items()}
        return (
            terms(symbol, {name: one for name, one in symbols.items() if one is not None}) if symbol else {}
        )

    return find


def _place_arguments(context: ProbeContext, prediction: Any, target: Any) -> None:
    stack = context.traces.stack
    if context.loop.quiet:  # fit knows its own data
        return
    if len(stack) == 1 and hasattr(type(target), "op"):
        arguments = context.step_arguments
        context.guard(step_arguments.PART, arguments.compared, stack[0][0], prediction, target)


KERAS_HOOKS = (Hook(PART, "keras.src.losses.loss", hook_loss),)
