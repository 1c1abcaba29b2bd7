"""Where a traced step of JAX looks up rows or classes by integers that it was given, and whether these are in range.

JAX raises for no index: one beyond the end gives NaN, the last row, or a row of zeros. The program is followed from its
integer arguments forward: what only changes their form keeps them, adding a number shifts them, and anything else,
such as a mask, makes other numbers of them, which are left alone.
"""

from __future__ import annotations

from typing import Any, NamedTuple

_MOST_EQUATIONS = 5_000
_MOST_BEYOND = 1_000  # numbers of one call
_SAME_VALUES = frozenset(
    ["broadcast_in_dim", "reshape", "squeeze", "expand_dims", "convert_element_type", "copy", "transpose",
     "stop_gradient", "copy_p", "reduce_precision", "optimization_barrier"]
)  # fmt: skip


class Lookup(NamedTuple):
    place: int  # among the arguments, flattened
    shift: int  # what the program adds to it
    size: int  # of the axis that is looked up
    how: str  # fill: NaN beyond the end | clip: the last | one-hot: a row of zeros
    table: bool  # of weights, and not of what was computed from them


class _Ids(NamedTuple):
    """Integers of an argument, shifted."""

    place: int
    shift: int


class _Counted(NamedTuple):
    """0, 1, 2, … along one axis."""

    size: int


class _Weights(NamedTuple):
    """An argument that is trained, as it was given."""


class _Columns(NamedTuple):
    """Indices of several axes side by side."""

    parts: tuple[Any, ...]


def found(jaxpr: Any, integers: set[int], weights: set[int]) -> list[Lookup]:
    """`integers`, `weights`: places of the arguments that hold whole numbers and that are trained."""
    known = [
        _Ids(place, 0) if place in integers else _Weights() if place in weights else None
        for place in range(len(jaxpr.invars))
    ]
    walk = _Walk()
    walk.through(jaxpr, known)
    return list(dict.fromkeys(walk.lookups))


def beyond(values: Any, lookup: Lookup) -> set[int]:
    """Some of the numbers that are looked up beyond the end."""
    found = values[values >= lookup.size - lookup.shift]
    return {int(one) + lookup.shift for one in set(found.reshape(-1)[:_MOST_BEYOND].tolist())}


class _Walk:
    def __init__(self) -> None:
        self.lookups: list[Lookup] = []
        self._left = _MOST_EQUATIONS

    def through(self, jaxpr: Any, known: list[Any]) -> list[Any]:
        """What is known of its results."""
        values: dict[int, Any] = {id(var): one for var, one in zip(jaxpr.invars, known)}
        for eqn in jaxpr.eqns:
            self._left -= 1
            if self._left < 0:
                return [None] * len(jaxpr.outvars)
            given = [None if hasattr(var, "val") else values.get(id(var)) for var in eqn.invars]
            for var, one in zip(eqn.outvars, self._results(eqn, given)):
                values[id(var)] = one
        return [None if hasattr(var, "val") else values.get(id(var)) for var in jaxpr.outvars]

    def _results(self, eqn: Any, given: list[Any]) -> list[Any]:
        kind = str(eqn.primitive.name)
        inner = eqn.params.get("jaxpr", eqn.params.get("call_jaxpr"))
        inner = getattr(inner, "jaxpr", inner)
        if inner is not None and len(getattr(inner, "invars", ())) == len(given):
            return self.through(inner, given)
        if kind == "iota":
            return [_Counted(int(eqn.params["shape"][eqn.params["dimension"]]))]
        if kind == "gather":
            self._gather(eqn, given)
        elif kind == "eq":
            self._one_hot(given)
        return [self._result(kind, eqn, given)]

    def _result(self, kind: str, eqn: Any, given: list[Any]) -> Any:
        if kind in _SAME_VALUES:
            return given[0] if given else None
        if kind in ("add", "sub"):
            return _shifted(kind, eqn, given)
        if kind == "select_n":  # an index below 0 counts from the end
            of_one = [one for one in given[1:] if isinstance(one, _Ids)]
            same = len(of_one) == len(given) - 1 > 1 and len({one.place for one in of_one}) == 1
            return min(of_one, key=lambda one: abs(one.shift)) if same else None
        if kind == "concatenate":
            return _Columns(tuple(given))
        return None

    def _gather(self, eqn: Any, given: list[Any]) -> None:
        indices, shape = given[1], eqn.invars[0].aval.shape
        axes = eqn.params["dimension_numbers"].start_index_map
        parts = indices.parts if isinstance(indices, _Columns) else (indices,)
        how = "fill" if "FILL" in str(eqn.params.get("mode")) else "clip"
        for axis, one in zip(axes, parts) if len(parts) == len(axes) else ():
            if isinstance(one, _Ids) and eqn.params["slice_sizes"][axis] == 1:
                table = isinstance(given[0], _Weights)
                self.lookups.append(Lookup(one.place, one.shift, int(shape[axis]), how, table))

    def _one_hot(self, given: list[Any]) -> None:
        ids = next((one for one in given if isinstance(one, _Ids)), None)
        counted = next((one for one in given if isinstance(one, _Counted)), None)
        if ids is not None and counted is not None:
            self.lookups.append(Lookup(ids.place, ids.shift, counted.size, "one-hot", False))


def _shifted(kind: str, eqn: Any, given: list[Any]) -> Any:
    ids = given[0] if isinstance(given[0], _Ids) else given[1] if kind == "add" else None
    numbers = [getattr(var, "val", None) for var in eqn.invars]
    number = next((one for one in numbers if one is not None), None)
    if not isinstance(ids, _Ids) or number is None or tuple(getattr(number, "shape", ())):
        return None
    return ids._replace(shift=ids.shift + (int(number) if kind == "add" else -int(number)))
