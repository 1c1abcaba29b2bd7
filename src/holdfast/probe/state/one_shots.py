"""What a loop of the user's draws from, where that can be gone through only once: a generator, `zip`, `map` and others.

A loop over it inside another loop finds nothing in it from the second round on.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable
from types import GeneratorType
from typing import Any, NamedTuple

from ...journal.events import DataRanOut
from ..runtime.weak_references import weak
from . import loop_bounds, loop_source

_FEWEST_ROUNDS = 2
#: Iterators that have an end, and no way back to their beginning. A file may be sought.
_ITERATORS: tuple[Any, ...] = (
    zip, map, filter, enumerate, itertools.chain, itertools.islice, itertools.starmap, itertools.takewhile,
    type(iter([])), type(iter(())), type(iter(range(1))),
)  # fmt: skip


class Around(NamedTuple):
    """The loops around the line of a frame, the outermost first, and what its names are."""

    loops: list[loop_bounds.Bounded]
    names: dict[str, Any]


class OneShot(NamedTuple):
    ended: Callable[[], bool]  # asked when the process ends
    end: DataRanOut  # what there is to record then


def feeding(frames: list[Around]) -> OneShot | None:
    """What feeds the step: `frames` from the one of the step outwards."""
    frames = [one for one in frames if one.loops]
    if not frames:
        return None
    inner, names = frames[0].loops[-1], frames[0].names
    if inner.kind != "data":
        return _asked_by_next(inner, names)
    outwards = [(loop, one.names) for one in frames for loop in one.loops[::-1]]
    for (loop, here), (outer, there) in zip(outwards, outwards[1:]):
        found = _in_rounds(loop, here, outer, there) if loop.kind == "data" else None
        if found is not None:
            return found
    return None


def _in_rounds(
    inner: loop_bounds.Bounded, here: dict[str, Any], outer: loop_bounds.Bounded, there: dict[str, Any]
) -> OneShot | None:
    """`here` and `there`: the names around each of the loops; the outer one may have called what has the inner one."""
    name, given = _iterated(inner.node, here)
    if given is None or loop_source.can_be_left(inner.node) or not _goes_round(outer, given):
        return None
    holders = {name} if here is there else {key for key, value in there.items() if value is given}
    if not holders or any(_assigned_in(outer.node, one) for one in holders):
        return None
    end = DataRanOut(where=inner.where, iterator=name, planned=outer.rounds, bound=outer.bound, one_shot=True)
    return OneShot(_ended(given), end)


def _goes_round(outer: loop_bounds.Bounded, given: Any) -> bool:
    """All of its rounds are done, but for an error; one that the script handles may leave some of the data."""
    if (outer.rounds or 0) < _FEWEST_ROUNDS or loop_source.can_be_left(outer.node):
        return False
    handled = any(isinstance(node, ast.Try) for node in ast.walk(outer.node))
    return isinstance(given, GeneratorType) or not handled


def _asked_by_next(loop: loop_bounds.Bounded, names: dict[str, Any]) -> OneShot | None:
    """The variable that the loop's body calls `next` on."""
    for call in ast.walk(loop.node):
        if not isinstance(call, ast.Call) or not call.args:
            continue
        asked = call.args[0]
        if isinstance(call.func, ast.Name) and call.func.id == "next" and isinstance(asked, ast.Name):
            given = names.get(asked.id)
            known = isinstance(given, GeneratorType) and not _assigned_in(loop.node, asked.id)
            if not known or (loop.rounds or 0) < _FEWEST_ROUNDS:
                return None
            end = DataRanOut(where=loop.where, iterator=asked.id, planned=loop.rounds, bound=loop.bound)
            return OneShot(_ended(given), end)
    return None


def _iterated(loop: Any, names: dict[str, Any]) -> tuple[str, Any]:
    name = loop_bounds.iterated_name(loop)
    given = names.get(name)
    return name, given if isinstance(given, GeneratorType) or type(given) in _ITERATORS else None


def _ended(given: Any) -> Callable[[], bool]:
    """A generator has no frame at its end; others do not show theirs, and a loop over them that is not left reaches
    it."""
    if not isinstance(given, GeneratorType):
        return lambda: True
    generator = weak(given)

    def is_over() -> bool:
        found = generator()
        return found is None or found.gi_frame is None

    return is_over


def _assigned_in(loop: Any, name: str) -> bool:
    """It is made again in the loop."""
    stored = [
        node for node in ast.walk(loop) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]
    return any(node.id == name for node in stored)
