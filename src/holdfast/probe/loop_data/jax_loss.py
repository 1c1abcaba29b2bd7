"""Which loss a jitted step of JAX minimises, read from the program that JAX has traced of it (its jaxpr).

JAX keeps what it has traced, so that nothing of the user's runs again for it. The forward pass lies in that program as
it was written: what the loss is made of is found by walking from it towards the arguments.
"""

from __future__ import annotations

from typing import Any, NamedTuple

_MOST_NODES = 600
_SAME_VALUES = frozenset(
    ["broadcast_in_dim", "reshape", "squeeze", "expand_dims", "convert_element_type", "copy", "transpose",
     "stop_gradient", "copy_p", "slice", "reduce_precision", "optimization_barrier"]
)  # fmt: skip
_ACTIVATIONS = {
    "logistic": "sigmoid", "sigmoid": "sigmoid", "tanh": "tanh", "relu": "relu", "softmax": "softmax",
    "_softmax": "softmax", "log_softmax": "log_softmax", "softplus": "softplus", "elu": "elu", "selu": "selu",
    "gelu": "gelu", "silu": "silu", "leaky_relu": "leaky_relu", "log_sigmoid": "log_sigmoid", "exp": "exponential",
    "swish": "silu", "relu6": "relu6", "hard_tanh": "hard_tanh",
}  # fmt: skip
_LINEAR = ("dot_general", "conv_general_dilated")
_CLIPS = ("add", "max", "min", "clip", "clamp", "jit:clip", "jit:_clip", "log")
#: Operations that put terms together or scale them; a mean is a sum divided by a number.
_COMBINES = ("add", "add_any", "mul")


#: One of two branches, by a condition; and operations in a row within a branch.
_CHOOSES = ("select_n", "jit:_where", "jit:where")
_MOST_IN_BRANCH = 6

#: By which an operand is made as large as the other one.
_GROWN = frozenset(["broadcast_in_dim"])


class TracedLoss(NamedTuple):
    loss: str  # under the name that Keras gives it
    from_logits: bool | None
    activation: str
    layer: str
    prediction_shape: tuple[int, ...]
    target_shape: tuple[int, ...] | None
    part: bool
    inputs: tuple[int, ...]  # places among the arguments, flattened
    targets: tuple[int, ...]


#: The loss of a difference between prediction and target that is neither squared nor its size alone.
OF_DIFFERENCE = "difference"


class _Node:
    """The operation that makes a value; "argument" and "constant" for what none makes."""

    __slots__ = ("below", "eqn", "kind", "place", "shape")

    def __init__(self, kind: str, shape: tuple[int, ...], eqn: Any = None, place: int = -1) -> None:
        self.kind, self.shape, self.eqn, self.place = kind, shape, eqn, place
        self.below: list[Any] = []  # variables


class _Program:
    def __init__(self, jaxpr: Any, weights: set[int]) -> None:
        self._made: dict[int, Any] = {}
        self._arguments = {id(var): place for place, var in enumerate(jaxpr.invars)}
        self._weights = weights
        self.shapes = [tuple(getattr(var.aval, "shape", ())) for var in jaxpr.invars]
        self.kinds = {str(eqn.primitive.name) for eqn in jaxpr.eqns}
        for eqn in jaxpr.eqns:
            for var in eqn.outvars:
                self._made[id(var)] = eqn

    def node(self, var: Any) -> _Node:
        shape = tuple(getattr(getattr(var, "aval", None), "shape", ()))
        eqn = self._made.get(id(var))
        if eqn is None:
            place = self._arguments.get(id(var), -1)
            return _Node("argument" if place >= 0 else "constant", shape, place=place)
        kind, name = str(eqn.primitive.name), str(eqn.params.get("name", "") or "")
        if kind in ("jit", "pjit", "custom_jvp_call", "custom_vjp_call", "closed_call") and name:
            kind = name if name in _ACTIVATIONS else f"jit:{name}"
        node = _Node(kind, shape, eqn)
        node.below = [one for one in eqn.invars if hasattr(one, "aval")]
        return node

    def below(self, node: _Node) -> list[_Node]:
        return [self.node(var) for var in node.below]

    def behind(self, node: _Node, kinds: Any = _SAME_VALUES) -> _Node:
        for _ in range(12):
            if node.kind not in kinds:
                return node
            children = [one for one in self.below(node) if one.kind != "constant"]
            if not children:
                return node
            node = children[0]
        return node

    def arguments(self, node: _Node) -> set[int]:
        """The places of all arguments that it is computed from."""
        found: set[int] = set()
        pending, seen = [node], {id(node)}
        while pending and len(seen) < 10 * _MOST_NODES:
            one = pending.pop()
            if one.kind == "argument":
                found.add(one.place)
            for var in one.below:
                if id(var) not in seen:
                    seen.add(id(var))
                    pending.append(self.node(var))
        return found

    def of_weights(self, node: _Node) -> bool:
        return bool(self.arguments(node) & self._weights)

    def data(self, node: _Node) -> tuple[int, ...]:
        return tuple(sorted(self.arguments(node) - self._weights))


def follows(jaxpr: Any, places: list[int], known: set[int]) -> list[bool]:
    """Of results, whether they depend on an argument that is not among the known ones."""
    program = _Program(jaxpr, known)
    return [bool(program.data(program.node(jaxpr.outvars[place]))) for place in places]


def read(jaxpr: Any, loss_var: Any, weights: set[int]) -> TracedLoss | None:
    """`weights`: the places of the arguments that are trained."""
    program = _Program(jaxpr, weights)
    return _found_below(program, program.node(loss_var))


def read_logged(jaxpr: Any, loss_var: Any, trained: set[int], state: int) -> TracedLoss | None:
    """The same of a loss that is logged: the metric that averages it adds it to what came before. All of the first
    `state` arguments are no data."""
    program = _Program(jaxpr, set(range(state)))
    return _found_below(program, _averaged(program, program.node(loss_var), trained))


def _averaged(program: _Program, node: _Node, trained: set[int]) -> _Node:
    """The loss itself: behind the division by the count, the sum so far, and the number of rows."""
    begun = node
    for _ in range(12):
        if node.kind == "argument":
            return begun
        below = program.below(node)
        added = [one for one in below if one.kind != "argument" and program.arguments(one) & trained]
        if node.kind == "add" and len(added) == 1 and any(one.kind == "argument" for one in below):
            loss = program.behind(added[0])
            return program.behind(program.below(loss)[0]) if loss.kind == "mul" else loss
        if len(added) != 1:
            return begun
        node = added[0]
    return begun


def _found_below(program: _Program, loss: _Node) -> TracedLoss | None:
    known = _first(program, loss, _known)
    return known if known is not None else _first(program, loss, _of_difference)


def _first(program: _Program, loss: _Node, recognise: Any) -> TracedLoss | None:
    pending, part = [(loss, False)], False
    for _ in range(_MOST_NODES):
        if not pending:
            return None
        node, part = pending.pop(0)
        found = recognise(program, node, part)
        if found is not None:
            return found
        below = [one for one in program.below(node) if one.kind not in ("constant", "argument")]
        of_weights = [one for one in below if program.of_weights(one)]
        pair = len(of_weights) == 2 and {one.kind for one in of_weights} == {
            "mul"
        }  # y log p + (1 - y) log(1 - p)
        several = len(of_weights) > 1 and not pair
        factor = node.kind == "mul" and len(of_weights) < len(node.eqn.invars)
        scaled = part or factor or (several and node.kind in _COMBINES)
        pending += [(one, scaled) for one in below if program.of_weights(one)]
    return None


def _known(program: _Program, node: _Node, part: bool) -> TracedLoss | None:
    if node.kind in ("integer_pow", "square", "abs"):
        return _difference(program, node, part)
    if node.kind in _CHOOSES:
        return _huber(program, node, part)
    if node.kind in ("gather", "jit:take_along_axis", "jit:_take", "dynamic_slice"):
        return _picked(program, node, part)
    if node.kind == "mul":
        return _weighted_logs(program, node, part)
    return None


def _difference(program: _Program, node: _Node, part: bool) -> TracedLoss | None:
    if node.kind == "integer_pow" and node.eqn.params.get("y") != 2:
        return None
    inner = program.behind(program.below(node)[0]) if node.below else node
    if inner.kind != "sub":
        return None
    return _subtracted(
        program, inner, "mean_absolute_error" if node.kind == "abs" else "mean_squared_error", part
    )


def _huber(program: _Program, node: _Node, part: bool) -> TracedLoss | None:
    """Small differences are squared, and of large ones the size counts."""
    found = [_in_branch(program, one, part) for one in program.below(node) if program.of_weights(one)]
    squared = [one for one in found if one is not None and one.loss == "mean_squared_error"]
    sizes = [one for one in found if one is not None and one.loss == "mean_absolute_error"]
    return squared[0]._replace(loss="huber") if squared and sizes else None


def _in_branch(program: _Program, node: _Node, part: bool) -> TracedLoss | None:
    for _ in range(_MOST_IN_BRANCH):
        if node.kind in ("integer_pow", "square", "abs"):
            return _difference(program, node, part)
        below = [one for one in program.below(node) if program.of_weights(one)]
        if len(below) != 1:
            return None
        node = below[0]
    return None


def _of_difference(program: _Program, node: _Node, part: bool) -> TracedLoss | None:
    """Weighed by its sign, or bent: a quantile's loss, and others."""
    found = _subtracted(program, node, OF_DIFFERENCE, part) if node.kind == "sub" else None
    if found is None or not found.targets or len(found.target_shape or ()) == len(found.prediction_shape):
        return None
    return found


def _subtracted(program: _Program, inner: _Node, loss: str, part: bool) -> TracedLoss | None:
    sides = [program.node(var) for var in inner.eqn.invars if hasattr(var, "aval")]
    computed = [side for side in sides if program.of_weights(side)]
    if len(sides) != 2 or len(computed) != 1:
        return None
    target = sides[1] if computed[0] is sides[0] else sides[0]
    return _traced(program, loss, None, program.behind(computed[0], _GROWN), target, part)


def _picked(program: _Program, node: _Node, part: bool) -> TracedLoss | None:
    """The entry of the label is taken out of a row: a cross-entropy of class ids."""
    below = program.below(node)
    if len(below) < 2 or not program.of_weights(below[0]):
        return None
    row, ids = program.behind(below[0]), below[1]
    if program.of_weights(ids) or not program.data(ids):
        return None
    if row.kind == "log_softmax":
        inner = program.below(row)[0]
        return _traced(program, "sparse_categorical_crossentropy", True, inner, ids, part)
    if row.kind == "log":
        inner = program.behind(program.below(row)[0], _SAME_VALUES | frozenset(_CLIPS))
        return _traced(program, "sparse_categorical_crossentropy", False, inner, ids, part)
    if {"log", "exp"} <= program.kinds:  # beside the logarithm of the sum of all
        largest = row.kind == "sub" and any(_is_largest(program, one) for one in program.below(row)[1:])
        inner = program.below(row)[0] if largest else row
        return _traced(program, "sparse_categorical_crossentropy", True, inner, ids, part)
    return None


def _is_largest(program: _Program, node: _Node) -> bool:
    node = program.behind(node)
    return node.kind in ("reduce_max", "max")


def _weighted_logs(program: _Program, node: _Node, part: bool) -> TracedLoss | None:
    """Logarithms of probabilities times labels."""
    sides = program.below(node)
    computed = [side for side in sides if program.of_weights(side)]
    if len(sides) != 2 or len(computed) != 1:
        return None
    target = sides[1] if computed[0] is sides[0] else sides[0]
    if not program.data(target):
        return None
    row = program.behind(computed[0])
    row = program.behind(program.below(row)[0]) if row.kind == "neg" else row
    if row.kind == "log_softmax":
        return _traced(program, "categorical_crossentropy", True, program.below(row)[0], target, part)
    if row.kind == "log_sigmoid":
        return _traced(program, "binary_crossentropy", True, program.below(row)[0], target, part)
    if row.kind == "log":
        inner = program.behind(program.below(row)[0], _SAME_VALUES | frozenset(_CLIPS))
        binary = inner.kind in ("logistic", "sigmoid") or (inner.shape[-1:] in ((), (1,)))
        loss = "binary_crossentropy" if binary else "categorical_crossentropy"
        return _traced(program, loss, False, inner, target, part)
    if (
        "log1p" in program.kinds and row.shape[-1:] == target.shape[-1:]
    ):  # max(z, 0) - z * y + log(1 + exp(-|z|))
        return _traced(program, "binary_crossentropy", True, computed[0], target, False)
    return None


def _traced(
    program: _Program, loss: str, from_logits: bool | None, prediction: _Node, target: _Node, part: bool
) -> TracedLoss:
    activation, layer = _made_by(program, prediction)
    inputs = program.data(prediction)
    targets = tuple(one for one in program.data(target) if one not in inputs)
    own = program.behind(target)
    shape = program.shapes[targets[0]] if len(targets) == 1 else own.shape
    return TracedLoss(loss, from_logits, activation, layer, prediction.shape, shape, part, inputs, targets)


def _made_by(program: _Program, node: _Node) -> tuple[str, str]:
    for _ in range(10):
        if node.kind in _ACTIVATIONS:
            return _ACTIVATIONS[node.kind], node.kind
        if node.kind in _LINEAR:
            return "linear", "Dense" if node.kind == "dot_general" else "Conv"
        if node.kind == "add":
            if any(program.behind(one).kind in _LINEAR for one in program.below(node)):
                return "linear", "Dense"
            return "", node.kind
        if node.kind == "div":  # a softmax that is written out: exponentials divided by their sum
            over = [program.behind(one).kind for one in program.below(node)]
            return ("softmax", "div") if over == ["exp", "reduce_sum"] else ("", "div")
        if node.kind not in _SAME_VALUES and node.kind != "gather":
            return "", node.kind
        children = [one for one in program.below(node) if one.kind != "constant"]
        if not children:
            return "", ""
        node = children[0]
    return "", ""
