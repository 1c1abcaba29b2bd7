"""The operation in float16 whose result left the range of float16 though what it was given was finite, read from what
torch keeps for the backward pass.

It is looked for once, at the first loss that is not finite. On a GPU reading the loss would have to wait for it: there
only after GradScaler has left out some steps in a row.
"""

from __future__ import annotations

import math
from typing import Any

from ...journal.events import HalfRangeLeft
from ..runtime import user_lines
from ..runtime.context import ProbeContext
from .torch_layers import nodes_below
from .torch_modes import kind_of, saved

PART = "half_range"
_MOST_NODES = 3_000
_FIRST_CALLS = 3  # at which the step is looked at for float16
_LEFT_OUT = 4  # steps in a row, on a GPU
#: Sums, products and powers of finite numbers are finite, but for the range of their format.
_MAKES = frozenset(
    ["Mm", "Addmm", "Bmm", "Baddbmm", "Addbmm", "Addmv", "Mv", "Dot", "Linear", "Convolution", "MkldnnConvolution",
     "Mul", "Pow", "Add", "Sub", "Sum", "Mean", "Cumsum", "Addcmul", "LinalgVectorNorm", "Norm", "Var", "ToCopy", "Div"]
)  # fmt: skip
#: Their values are those that they are given, or fewer.
_SAME_VALUES = frozenset(
    ["View", "UnsafeView", "Reshape", "ReshapeAlias", "T", "Transpose", "Permute", "Expand", "Squeeze", "Unsqueeze",
     "Slice", "Select", "Split", "SplitWithSizes", "Chunk", "Cat", "Stack", "Index", "IndexSelect", "Gather", "Clone",
     "Alias", "Contiguous", "Neg", "Abs", "Repeat", "Roll", "Flip", "Unbind", "Detach", "Relu", "Max", "Amax", "Min"]
)  # fmt: skip
#: These make numbers that are not finite out of finite ones in any format.
_SINGULAR = frozenset(
    ["Log", "Log1P", "Log2", "Log10", "Sqrt", "Rsqrt", "Reciprocal", "Acos", "Asin", "Atanh", "Exp", "Expm1", "Tan",
     "MaskedFill", "Where", "Xlogy", "Prod", "Cumprod", "Digamma", "Lgamma"]
)  # fmt: skip

#: Of finite numbers they make finite ones, in any format.
_BOUNDED = frozenset(["Softmax", "LogSoftmax", "Sigmoid", "Tanh", "Relu"])
_LEAF = frozenset({"AccumulateGrad"})
_ROUNDS = "ToCopy"
#: Which of its inputs an operation keeps under a name.
_PLACES: dict[Any, int] = {
    "self": 0, "input": 0, "other": 1, "mat2": 1, "weight": 1, "vec": 1,
    ("Addmm", "mat1"): 1, ("Addmm", "mat2"): 2, ("Baddbmm", "batch1"): 1, ("Baddbmm", "batch2"): 2,
}  # fmt: skip


class HalfRange:
    def __init__(self, context: ProbeContext) -> None:
        self._context = context
        self.new_run()

    def new_run(self) -> None:
        self._calls = 0
        self._half = False
        self._over = False

    def backward_begins(self, loss: Any, unscaled: Any) -> None:
        """`loss`: with its record of operations; `unscaled`: as the script computes it."""
        if self._over:
            return
        self._calls += 1
        if not self._half:
            self._half = computes_in_half(loss)
            self._over = not self._half and self._calls >= _FIRST_CALLS
        on_host = str(loss.device.type) == "cpu"
        if not self._half or not (on_host or self._context.loss_scaler.in_a_row >= _LEFT_OUT):
            return
        if unscaled.dim() == 0 and not math.isfinite(float(unscaled)):
            self._over = True
            self._search(loss)

    def _search(self, loss: Any) -> None:
        found = left_range(loss)
        if found is not None:
            operations, largest = found
            self._context.record(
                HalfRangeLeft(
                    step=self._context.heartbeat.step + 1, operations=operations, largest=largest,
                    where=user_lines.caller_line(),
                )
            )  # fmt: skip


def computes_in_half(loss: Any, most: int = 600) -> bool:
    """Whether an operation below the loss returned float16."""
    return any(_returns_half(node) for node in nodes_below(loss, most))


def left_range(loss: Any) -> tuple[list[str], float] | None:
    """The operations between finite values and the first that is not, and the largest of those values; None where it
    is not float16 that broke them."""
    pending = _behind_first_broken(loss)
    made: list[Any] = []
    seen: set[Any] = {None}
    largest = 0.0
    while pending:
        node = pending.pop(0)
        if node in seen:
            continue
        seen.add(node)
        kind, kept = kind_of(node), dict(_kept(node))
        finite = {name: one for name, one in kept.items() if bool(one.isfinite().all())}
        if _may_break(node, kind) or not (finite or kind in _MAKES | _SAME_VALUES | _LEAF):
            return None
        if kind in _MAKES:
            made.append(node)
            largest = max([largest, *(float(one.abs().max()) for one in finite.values())])
        if kind in _MAKES | _SAME_VALUES:
            known = {_PLACES.get((kind, name), _PLACES.get(name)) for name in finite}
            pending += [child for place, (child, _) in enumerate(node.next_functions) if place not in known]
    halves = sorted([node for node in made if _returns_half(node)], key=_order)
    computed = [node for node in halves if kind_of(node) != _ROUNDS] or halves
    return ([kind_of(node).lower() for node in computed], largest) if halves else None


def _behind_first_broken(loss: Any) -> list[Any]:
    """Operations that made the first values that are not finite."""
    nodes = [one for one in nodes_below(loss, _MOST_NODES) if kind_of(one) not in _LEAF]
    for node in sorted(nodes, key=_order):
        broken = [name for name, value in _kept(node) if not bool(value.isfinite().all())]
        if broken:
            itself = "result" in broken and kind_of(node) not in _BOUNDED
            return [node] if itself else [child for child, _ in node.next_functions]
    return [loss.grad_fn]


def _may_break(node: Any, kind: str) -> bool:
    """It makes what is not finite in any format, or begins with it."""
    if kind in _LEAF:
        return not bool(node.variable.isfinite().all())
    return kind in _SINGULAR or (kind == "Div" and _divides_by_zero(node))


def _kept(node: Any) -> list[tuple[str, Any]]:
    """Numbers that torch keeps of an operation, by their name."""
    names = [name[len("_saved_") :] for name in dir(node) if name.startswith("_saved_")]
    pairs = [(name, saved(node, name)) for name in names]
    return [(name, one) for name, one in pairs if getattr(one, "is_floating_point", bool)() and one.numel()]


def _order(node: Any) -> int:
    """In which the script called them."""
    return int(node._sequence_nr())


def _returns_half(node: Any) -> bool:
    metadata = getattr(node, "_input_metadata", None) or ()
    return any(str(getattr(one, "dtype", "")) == "torch.float16" for one in metadata)


def _divides_by_zero(node: Any) -> bool:
    other = saved(node, "other")
    return other is None or bool((other == 0).any())
