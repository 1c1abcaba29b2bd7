"""The peak of a traced step, by a liveness analysis: when arrays are created, when last used, and which are fused.

A model of the compiler: chains of elementwise operations become one kernel and store nothing, and reshapes cost
nothing. It has no workspaces, no layout copies and no schedule but the order of the program; `breakdown.METHODS` has
its errors so far.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

#: Results that a fused kernel can compute where they are used, so that they need no memory of their own.
CHEAP = frozenset((
    "abs", "add", "add_any", "and", "broadcast_in_dim", "ceil", "clamp", "convert_element_type",
    "copy", "copy_p", "cos", "div", "dynamic_slice", "eq", "erf", "exp", "expm1", "floor", "gather",
    "ge", "gt", "integer_pow", "iota", "is_finite", "le", "log", "log1p", "logistic", "lt", "max",
    "min", "mul", "ne", "neg", "nextafter", "not", "optimization_barrier", "or", "pad", "pow",
    "random_bits", "random_fold_in", "random_seed", "random_wrap", "rem", "rev", "round", "rsqrt",
    "select_n", "shift_left", "shift_right_arithmetic", "shift_right_logical", "sign", "sin",
    "slice", "sqrt", "square", "stop_gradient", "sub", "tanh", "xor",
))  # fmt: skip
#: The same bytes under another shape.
FREE = frozenset(["reshape", "squeeze", "expand_dims", "bitcast_convert_type"])
#: Called with a body, which is analysed in their place.
INLINED = frozenset((
    "jit", "pjit", "closed_call", "core_call", "remat", "remat2", "checkpoint", "custom_jvp_call",
    "custom_vjp_call", "custom_vjp_call_jaxpr", "custom_lin",
))  # fmt: skip


@dataclass(frozen=True, slots=True)
class Peak:
    """`temp_bytes` is what the step needs in addition to its arguments; `at` what is alive at the peak, by part of the
    network."""

    temp_bytes: int
    largest_bytes: int
    at: dict[str, int] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(slots=True)
class _Operation:
    name: str
    takes: list[Any]
    gives: list[Any]
    where: str
    inside_bytes: int = 0  # the peak of a loop's body


def peak_of(closed: Any) -> Peak:
    """The peak of a ClosedJaxpr. Its arguments and constants do not count."""
    operations, outputs = _flattened(closed.jaxpr)
    return _walk(operations, set(map(id, outputs)))


# -- from nested programs to one list ---------------------------------------------------------------


def _flattened(jaxpr: Any) -> tuple[list[_Operation], list[Any]]:
    operations: list[_Operation] = []
    _inline(jaxpr, {}, operations, "")
    return operations, [one for one in jaxpr.outvars if not _is_literal(one)]


def _inline(jaxpr: Any, known: dict[Any, Any], operations: list[_Operation], outer: str) -> dict[Any, Any]:
    """Appends the operations of `jaxpr`; `known` maps its variables to those of the program around it."""

    def outer_variable(variable: Any) -> Any:
        return known.get(variable, variable)

    for eqn in jaxpr.eqns:
        takes = [outer_variable(one) for one in eqn.invars if not _is_literal(one)]
        name = eqn.primitive.name
        where = _block_of(str(eqn.source_info.name_stack)) or outer
        bodies = list(_bodies(eqn))
        if name in INLINED and bodies:
            body = bodies[0]
            inner = dict(zip(body.invars, [_value(one, outer_variable) for one in eqn.invars], strict=False))
            # A body is one object however often it is called: every call gets new variables.
            inner |= {one: _InlinedVariable(one.aval) for sub in body.eqns for one in sub.outvars}
            inner = _inline(body, inner, operations, where)
            for out, result in zip(eqn.outvars, body.outvars, strict=True):
                known[out] = _value(result, lambda one, inner=inner: inner.get(one, one))
            continue
        inside = max((peak_of_body(body) for body in bodies), default=0)
        operations.append(
            _Operation(name, takes, [outer_variable(one) for one in eqn.outvars], where, inside)
        )
    return known


class _InlinedVariable:
    """A variable of one call of a body."""

    __slots__ = ("aval",)

    def __init__(self, aval: Any) -> None:
        self.aval = aval


def _value(one: Any, resolve: Any) -> Any:
    return _InlinedVariable(one.aval) if _is_literal(one) else resolve(one)


def peak_of_body(jaxpr: Any) -> int:
    """A loop's body: its arguments are outside, its results are those of the next iteration."""
    operations, outputs = _flattened(jaxpr)
    return _walk(operations, set(map(id, outputs))).temp_bytes


def _bodies(eqn: Any) -> Iterator[Any]:
    for value in eqn.params.values():
        for one in value if isinstance(value, tuple | list) else (value,):
            inner = getattr(one, "jaxpr", one)
            if hasattr(inner, "eqns"):
                yield inner


def _is_literal(one: Any) -> bool:
    return hasattr(one, "val") or type(one).__name__ == "DropVar"


# -- the walk -----------------------------------------------------------------------------------------


def _walk(operations: list[_Operation], outputs: set[int]) -> Peak:
    stored, alias = _stored(operations, outputs)
    last_use: dict[int, int] = {}
    for index, operation in enumerate(operations):
        for one in operation.takes:
            for source in alias.get(id(one), (id(one),)):
                last_use[source] = index
    born: dict[int, tuple[int, str]] = {}
    ends: dict[int, list[int]] = {}
    live = top = largest = 0
    at_top: list[tuple[int, str]] = []
    for index, operation in enumerate(operations):
        for one in operation.gives:
            if id(one) in stored and id(one) not in outputs:
                size = _bytes(one)
                born[id(one)] = (size, operation.where)
                ends.setdefault(last_use.get(id(one), index), []).append(id(one))
                live += size
                largest = max(largest, size)
        if live + operation.inside_bytes > top:
            top = live + operation.inside_bytes
            at_top = [*born.values(), (operation.inside_bytes, "accumulation of micro-batches")]
        for gone in ends.pop(index, ()):
            live -= born.pop(gone)[0]
    return Peak(top, largest, _by_block(at_top))


def _stored(operations: list[_Operation], outputs: set[int]) -> tuple[set[int], dict[int, tuple[int, ...]]]:
    """Which results get memory; and for those that do not, what must live on in their place."""
    heavy_uses = Counter(
        id(one)
        for operation in operations
        if operation.name not in CHEAP
        and operation.name not in FREE
        and not operation.name.startswith("reduce")
        for one in operation.takes
    )
    stored: set[int] = set()
    alias: dict[int, tuple[int, ...]] = {}
    for operation in operations:
        for one in operation.gives:
            free = operation.name in FREE
            fused = operation.name in CHEAP and not heavy_uses[id(one)] and _few_sources(operation, alias)
            if (free or fused) and id(one) not in outputs:
                sources = [alias.get(id(taken), (id(taken),)) for taken in operation.takes]
                alias[id(one)] = tuple(dict.fromkeys(part for source in sources for part in source))
            else:
                stored.add(id(one))
    return stored, alias


def _few_sources(operation: _Operation, alias: dict[int, tuple[int, ...]]) -> bool:
    """A fused kernel reads a handful of arrays; a longer chain is cut, and its middle stored."""
    sources = {part for one in operation.takes for part in alias.get(id(one), (id(one),))}
    return len(sources) <= 12


def _bytes(one: Any) -> int:
    shape = getattr(one.aval, "shape", ())
    size = getattr(getattr(one.aval, "dtype", None), "itemsize", 4)
    for side in shape:
        size *= int(side)
    return int(size)


def _block_of(name_stack: str) -> str:
    """The block that a name such as "transpose(jvp(ssd))/backbone/conv3_block2/conv" belongs to."""
    words = re.sub(r"\b(transpose|jvp|vmap|checkpoint|rematted_computation)\b|[()]", "", name_stack).split(
        "/"
    )
    words = [word for word in words if word]
    return "/".join(words[1:3]) if len(words) > 1 else ""


def _by_block(living: Iterable[tuple[int, str]]) -> dict[str, int]:
    found: Counter[str] = Counter()
    for size, where in living:
        found[where or "losses and update"] += size
    return {where: size for where, size in found.most_common() if size}
