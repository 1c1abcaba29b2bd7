"""Which loss torch is about to differentiate, read from its record of operations: `loss.grad_fn` and what lies below.

Nothing of torch is wrapped for it, and a loss that is written out by hand is known as well as one that is called.
"""

from __future__ import annotations

from typing import Any

from ..loop_data.loss_terms import names_below
from .loss_calls import ComparedValues

_MOST_NODES = 400  # below the loss; the loss functions are near the top
_MOST_LOSSES = 4
_SUMMED = 2  # torch's number for reduction="sum"
#: By the operation's name without "Backward0": the loss under Keras's name, and whether it takes logits.
_LOSSES = {
    "MseLoss": ("mean_squared_error", None),
    "SmoothL1Loss": ("huber", None),
    "HuberLoss": ("huber", None),
    "BinaryCrossEntropy": ("binary_crossentropy", False),
    "BinaryCrossEntropyWithLogits": ("binary_crossentropy", True),
    "NllLoss": ("sparse_categorical_crossentropy", False),
    "NllLoss2D": ("sparse_categorical_crossentropy", False),
}
#: Terms are put together, or scaled, by these.
_COMBINES = ("Add", "Sub", "Mul", "Div", "Stack", "Cat", "Where")
#: These leave the values as they are.
_SAME_VALUES = (
    "View", "UnsafeView", "ReshapeAlias", "Squeeze", "Unsqueeze", "Permute", "Transpose", "T", "ToCopy", "Clone",
    "Expand", "Select", "Slice", "Alias", "Contiguous",
)  # fmt: skip
_ACTIVATIONS = {
    "Softmax": "softmax", "LogSoftmax": "log_softmax", "Sigmoid": "sigmoid", "LogSigmoid": "log_sigmoid",
    "Relu": "relu", "Tanh": "tanh", "Elu": "elu", "Softplus": "softplus", "LeakyRelu": "leaky_relu", "Gelu": "gelu",
    "Silu": "silu", "Exp": "exponential", "Hardtanh": "hard_tanh",
}  # fmt: skip
_LINEAR = ("Addmm", "Mm", "Bmm", "Baddbmm", "Convolution", "MkldnnConvolution", "Linear")


def compared(loss: Any) -> list[ComparedValues]:
    """The losses in it that are known; they are read before torch lets go of what it has saved for them."""
    return _below_loss(loss, _known) or _below_loss(loss, _of_unequal)[:1]


def _below_loss(loss: Any, recognise: Any) -> list[ComparedValues]:
    found: list[ComparedValues] = []
    pending: list[tuple[Any, bool, Any]] = [(loss.grad_fn, False, None)]
    seen: set[Any] = set()
    for _ in range(_MOST_NODES):
        if not pending or len(found) >= _MOST_LOSSES:
            break
        node, part, mask = pending.pop(0)
        if node is None or node in seen:
            continue
        seen.add(node)
        name = kind(node)
        one = recognise(node, name, part)
        if one is not None:
            found.append(one._replace(node=node, mask=_chosen_by(node) if mask is None else mask))
            continue
        below = [child for child, _ in node.next_functions if child is not None]
        scaled = part or name in _COMBINES or len(below) > 1 or (name == "Sum" and bool(_sizes(node)))
        own = _mask(node, name)
        pending += [(child, scaled, mask if own is None else own) for child in below]
    return found


def _chosen_by(node: Any) -> Any:
    """The mask by which the predictions of a loss were chosen."""
    for _ in range(3):
        node = _behind_same_values(_below(node))
        if node is None:
            return None
        name = kind(node)
        if name == "Index":
            return _mask(node, name)
        if name not in ("Sub", "LogSoftmax"):
            return None
    return None


def _mask(node: Any, name: str) -> Any:
    """Zeros and ones that values are multiplied by, or a choice of some of them."""
    if name == "Index":
        indices = [one for one in (_saved_list(node, "indices")) if one is not None]
        return indices[0] if len(indices) == 1 and str(indices[0].dtype) == "torch.bool" else None
    if name != "Mul":
        return None
    given = [one for one in (_saved(node, "self"), _saved(node, "other")) if one is not None]
    return given[0] if len(given) == 1 and len(_inputs(node)) == 1 and given[0].dim() else None


def terms(loss: Any, named: dict[str, Any]) -> dict[str, Any]:
    """Those scalars that the loss is put together from."""
    names = {one.grad_fn: name for name, one in named.items() if getattr(one, "grad_fn", None) is not None}
    found = names_below(loss.grad_fn, names, lambda node: node, _scalars_below)
    return {name: named[name] for name in found}


def _scalars_below(node: Any) -> list[Any]:
    return [child for child, _ in node.next_functions if child is not None and not _shape(child)]


def kind(node: Any) -> str:
    """ "NllLoss" of "NllLossBackward0"."""
    return str(node.name()).rpartition("::")[2].partition("Backward")[0]


def _known(node: Any, name: str, part: bool) -> ComparedValues | None:
    if name in _LOSSES:
        return _of_function(node, name, part)
    if name in ("Pow", "Abs", "Square"):
        return _of_difference(node, name, part)
    if name == "Mul":
        return _of_probabilities(node, part)
    return None


def _of_function(node: Any, name: str, part: bool) -> ComparedValues | None:
    loss, from_logits = _LOSSES[name]
    below = _below(node)
    if below is None:
        return None
    shape = _shape(below)
    if kind(below) == "Expand":  # torch has made the shapes equal: this is the prediction's own
        shape = tuple(int(side) for side in below._saved_self_sym_sizes)
    behind = _behind_same_values(below)  # autocast computes the logarithm in another precision
    if name.startswith("Nll") and behind is not None and kind(behind) == "LogSoftmax":
        from_logits, below = True, _below(behind)
    target = _saved(node, "target")
    return ComparedValues(
        loss,
        from_logits,
        *_made_by(below),
        prediction_shape=shape,
        target_shape=_target_shape(target, shape),
        part=part or getattr(node, "_saved_weight", None) is not None or node._saved_reduction == _SUMMED,
        prediction=_own(_values_of(below) if from_logits else _saved(node, "self"), _saved(node, "self")),
        target=_own(target),
        units=shape[1] if name == "NllLoss2D" and shape and len(shape) > 2 else None,
    )


def _target_shape(target: Any, prediction: Any) -> Any:
    """torch hands the loss an expanded target: a side that it does not really have has no stride."""
    if target is None:
        return None
    shape, strides = tuple(int(side) for side in target.shape), tuple(target.stride())
    if len(shape) == len(prediction or ()) and shape != prediction:
        own = [side for side, stride in zip(shape, strides) if stride or side == 1]
        return tuple(own)
    return shape


def _of_difference(node: Any, name: str, part: bool) -> ComparedValues | None:
    """`((prediction - target) ** 2).mean()` and `(prediction - target).abs().mean()`, written out."""
    if name == "Pow" and float(getattr(node, "_saved_exponent", 0) or 0) != 2.0:
        return None
    below = _below(node)
    if below is None or kind(below) not in ("Sub", "Rsub"):
        return None
    operands = [child for child, _ in below.next_functions if child is not None]
    if len(operands) != 1:  # both sides are computed: which one is the target is not known
        return None
    made, shape, whole = operands[0], _shape(operands[0]), _shape(node)
    loss = "mean_absolute_error" if name == "Abs" else "mean_squared_error"
    target = None if whole == shape else _other(whole, shape)
    return ComparedValues(loss, None, *_made_by(made), prediction_shape=shape, target_shape=target, part=part)


def _of_unequal(node: Any, name: str, part: bool) -> ComparedValues | None:
    """A difference of any other loss that is larger than the prediction: the target has not the same shape."""
    operands = _inputs(node) if name in ("Sub", "Rsub") else []
    if len(operands) != 1:
        return None
    shape, whole = _shape(operands[0]), _shape(node)
    target = _other(whole, shape) if whole != shape else None
    if target is None:
        return None
    return ComparedValues(
        "difference", None, *_made_by(operands[0]), prediction_shape=shape, target_shape=target, part=part
    )


def _other(whole: Any, shape: Any) -> Any:
    """The shape of the other operand, where the two together make a larger one than the prediction has."""
    if not whole or not shape or len(shape) != len(whole):
        return None
    grown = [i for i, (side, own) in enumerate(zip(whole, shape)) if side != own]
    return whole[grown[0] :] if grown else None


def _of_probabilities(node: Any, part: bool) -> ComparedValues | None:
    """`cross_entropy` with probabilities for targets: log-probabilities times targets."""
    below = _below(node)
    if below is None or kind(below) != "LogSoftmax" or len(_inputs(node)) != 1:
        return None
    target = _saved(node, "other")
    target = target if target is not None else _saved(node, "self")
    if target is None or tuple(target.shape) != _shape(below):
        return None
    made, shape = _made_by(_below(below)), _shape(below)
    return ComparedValues(
        "categorical_crossentropy", True, *made, prediction_shape=shape, target_shape=shape, part=part,
        prediction=_saved(below, "result"), target=target,
    )  # fmt: skip


def _values_of(node: Any) -> Any:
    """What an activation returned, as torch keeps it for most of them."""
    return _saved(node, "result") if node is not None and kind(node) in _ACTIVATIONS else None


def _own(tensor: Any, instead: Any = None) -> Any:
    """Without the sides that torch has only repeated to make two shapes equal."""
    tensor = tensor if tensor is not None else instead
    if tensor is None:
        return None
    for side in reversed(range(tensor.dim())):
        if tensor.stride(side) == 0 and tensor.shape[side] > 1:
            tensor = tensor.select(side, 0)
    return tensor


def _made_by(node: Any) -> tuple[str, str]:
    """The activation, and the operation behind it."""
    for _ in range(8):
        if node is None:
            return "", ""
        name = kind(node)
        if name in _ACTIVATIONS:
            return _ACTIVATIONS[name], name
        if name in _LINEAR:
            return "linear", name
        if name not in _SAME_VALUES:
            return "", name
        node = _below(node)
    return "", ""


def _behind_same_values(node: Any) -> Any:
    for _ in range(8):
        if node is None or kind(node) not in _SAME_VALUES:
            return node
        node = _below(node)
    return node


def leaves(loss: Any, most_nodes: int = 5_000) -> list[Any]:
    """The tensors whose gradient `backward` adds to."""
    found: list[Any] = []
    pending: list[Any] = [loss.grad_fn]
    seen: set[Any] = set()
    while pending and len(seen) < most_nodes:
        node = pending.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        variable = getattr(node, "variable", None)
        if variable is not None:
            found.append(variable)
        pending += [child for child, _ in node.next_functions]
    return found


def _inputs(node: Any) -> list[Any]:
    return [child for child, _ in node.next_functions if child is not None]


def _below(node: Any) -> Any:
    children = _inputs(node)
    return children[0] if children else None


def _shape(node: Any) -> tuple[int, ...] | None:
    """Of what the operation has computed; torch before 2.1 does not say."""
    metadata = getattr(node, "_input_metadata", None)
    return tuple(int(side) for side in metadata[0].shape) if metadata else None


def _sizes(node: Any) -> Any:
    return tuple(getattr(node, "_saved_self_sym_sizes", ()) or ())


def _saved_list(node: Any, name: str) -> list[Any]:
    try:
        return list(getattr(node, f"_saved_{name}"))
    except (AttributeError, RuntimeError, TypeError):
        return []


def _saved(node: Any, name: str) -> Any:
    """What torch keeps for the backward pass; None when it keeps nothing."""
    try:
        value = getattr(node, f"_saved_{name}")
    except (AttributeError, RuntimeError):
        return None
    return value.detach() if hasattr(value, "detach") else None
