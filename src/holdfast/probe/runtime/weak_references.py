"""References that keep nothing of the user's alive."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

_MOST_KNOWN = 100  # objects, before those that are gone are forgotten


def weak(value: Any) -> Callable[[], Any]:
    """Gives the value while it lives, then None; always None for a value that cannot be referred to weakly."""
    try:
        return weakref.ref(value)
    except TypeError:
        return lambda: None


class Numbers:
    """A number for each object. An address is used again once an object is gone, a number is not."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Callable[[], Any], int]] = {}
        self._newest = 0

    def of(self, value: Any) -> int:
        try:
            reference = weakref.ref(value)
        except TypeError:
            return -id(value)
        found = self._known.get(id(value))
        if found is None or found[0]() is not value:
            self._newest += 1
            if len(self._known) >= _MOST_KNOWN:
                self._known = {key: one for key, one in self._known.items() if one[0]() is not None}
            found = self._known[id(value)] = reference, self._newest
        return found[1]
