"""The terms of a loss: scalars of the function that differentiates it, which the loss is put together from.

Which of them are terms is read from the framework's record at the first calls; the values are read at every one, where
they are in host memory.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from ..runtime import frame_locals, user_lines
from ..state import finiteness

PART = "loss_terms"
_ALWAYS_FIRST = 3  # calls at which terms are sought
_MOST_LOCALS, _MOST_TERMS = 200, 8
_MOST_SCALARS = 60  # of which a loss is put together
_MOST_FRAMES = 12
_FRAMEWORKS = frozenset({"torch", "tensorflow", "keras"})


class LossTerms:
    def __init__(self) -> None:
        self.new_run()

    def new_run(self) -> None:
        self._places: dict[
            str, tuple[str, str | None]
        ] = {}  # of each term: its variable, and its key in a dictionary
        self._calls = 0
        self._newest: dict[str, float] = {}
        self.loss_name = ""  # of what a traced function differentiates

    def differentiated(
        self, loss: Any, find: Callable[[Any, dict[str, Any]], dict[str, Any]]
    ) -> dict[str, Any]:
        """The terms by their names in the script. `find`: those of its scalars that the loss is computed from."""
        self._newest = {}
        seeks = self._calls < _ALWAYS_FIRST
        frame = user_lines.caller() if seeks or self._places else None
        if frame is None or not finiteness.in_host_memory(loss):
            return {}
        variables = frame_locals.of(frame)
        if seeks:
            self._seek(loss, variables, find)
        terms = {name: one for name, one in self._named(variables).items() if _is_tensor(one)}
        self._newest = {
            name: float(one.detach() if hasattr(one, "detach") else one)
            for name, one in terms.items()
            if finiteness.in_host_memory(one)
        }
        return terms

    def _seek(
        self, loss: Any, variables: dict[str, Any], find: Callable[[Any, dict[str, Any]], dict[str, Any]]
    ) -> None:
        self._calls += 1
        named = {name: one for name, one in scalars(variables).items() if one is not loss}
        found = list(find(loss, named))
        if len(found) > 1:
            places = _places(variables)
            self._places = {name: places[name] for name in found[:_MOST_TERMS]}

    def _named(self, variables: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, (variable, key) in self._places.items():
            value = variables.get(variable)
            found[name] = value if key is None else value.get(key) if type(value) is dict else None
        return found

    def take(self) -> dict[str, float]:
        newest, self._newest = self._newest, {}
        return newest


def names_below(
    start: Any,
    names: dict[Any, str],
    node_of: Callable[[Any], Any],
    scalars_below: Callable[[Any], list[Any]],
) -> list[str]:
    """Of the nodes with a name those that the start is put together from, by the framework's record of operations:
    `box_loss` of `loss = box_loss + class_loss`."""
    left, found, pending = {**names}, [], [start]
    left.pop(node_of(start), None)
    for _ in range(_MOST_SCALARS):
        if not pending or not left:
            break
        one = pending.pop(0)
        name = left.pop(node_of(one), None)
        found += [name] if name is not None else []
        pending += scalars_below(one)
    return found


def with_terms(compared: list[Any], below: dict[str, list[Any]]) -> list[Any]:
    """Each with the name of the term that it is a part of. `below`: what is compared in each term alone."""
    found = []
    for one in compared:
        names = [name for name, parts in below.items() if any(one.node == part.node for part in parts)]
        found.append(one._replace(term=names[-1] if names else ""))
    return found


def scalars(variables: dict[str, Any]) -> dict[str, Any]:
    """Tensors alone; also of a dictionary of losses, as detectors of torchvision return."""
    return {
        name: variables[variable] if key is None else variables[variable][key]
        for name, (variable, key) in _places(variables).items()
    }


def _places(variables: dict[str, Any]) -> dict[str, tuple[str, str | None]]:
    found: dict[str, tuple[str, str | None]] = {}
    for name, value in list(variables.items())[:_MOST_LOCALS]:
        if type(value) is dict and len(value) <= _MOST_TERMS:
            found.update(
                (key, (name, key)) for key, one in value.items() if isinstance(key, str) and _is_tensor(one)
            )
        elif _is_tensor(value):
            found[name] = name, None
    return found


def in_frame_of(target: Any) -> tuple[str, dict[str, Any]]:
    """The name of the symbol, and the other scalars of the function, perhaps rewritten by AutoGraph, that has it."""
    frame = sys._getframe(1)
    for _ in range(_MOST_FRAMES):
        probe = user_lines.is_probe(frame.f_code.co_filename)
        named = scalars(frame_locals.of(frame)) if not probe else {}
        names = [name for name, one in named.items() if one is target]
        if names:
            return names[-1], {name: one for name, one in named.items() if one is not target}
        if frame.f_back is None:
            break
        frame = frame.f_back
    return "", {}


def _is_tensor(value: Any) -> bool:
    """Of a framework: what the user's own objects do when they are asked for an attribute is not known."""
    if type(value).__module__.partition(".")[0] not in _FRAMEWORKS:
        return False
    known = hasattr(value, "dtype") and hasattr(value, "shape")
    return known and "float" in str(value.dtype) and tuple(value.shape) == ()
