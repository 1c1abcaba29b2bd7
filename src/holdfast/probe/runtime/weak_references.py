"""References that keep nothing of the user's alive."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any


def weak(value: Any) -> Callable[[], Any]:
    """Gives the value while it lives, then None; always None for a value that cannot be referred to weakly."""
    try:
        return weakref.ref(value)
    except TypeError:
        return lambda: None
