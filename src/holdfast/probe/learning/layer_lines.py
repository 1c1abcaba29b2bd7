"""Which line of the user's code made a layer."""

from __future__ import annotations

import functools
import weakref
from typing import Any

from ..runtime import user_lines
from ..runtime.context import ProbeContext
from ..runtime.hook import Hook

PART = "layer_lines"
_MOST = 5000  # layers; a program that makes more makes them in a loop


class LayerLines:
    """By weak references: a layer that is gone is forgotten."""

    def __init__(self) -> None:
        self._made: dict[int, tuple[weakref.ref[Any], str]] = {}

    def made(self, layer: Any) -> None:
        if len(self._made) >= _MOST:
            return
        where = user_lines.caller_line()
        if where:
            key = id(layer)
            self._made[key] = weakref.ref(layer, lambda _: self._made.pop(key, None)), where

    def of(self, layer: Any) -> str:
        reference, where = self._made.get(id(layer), (None, ""))
        return where if reference is not None and reference() is layer else ""


def hook_layer(context: ProbeContext, module: Any) -> None:
    _watch_new(context, module.Layer)


def hook_layer_selector(context: ProbeContext, module: Any) -> None:
    """Keras 2, whose layers take their `__new__` from here."""
    _watch_new(context, module.LayerVersionSelector)


def _watch_new(context: ProbeContext, kind: Any) -> None:
    """`__new__` and not `__init__`: a frame more around that would be named in warnings about a layer's arguments."""
    found = vars(kind).get("__new__")
    original = getattr(found, "__func__", None)
    if original is None or hasattr(original, "_holdfast_original"):
        return
    lines = context.learning.lines

    @functools.wraps(original)
    def made(cls: Any, *args: Any, **kwargs: Any) -> Any:
        layer = original(cls, *args, **kwargs)
        if context.is_on(PART):
            context.guard(PART, lines.made, layer)
        return layer

    made._holdfast_original = original  # type: ignore[attr-defined]
    kind.__new__ = staticmethod(made)


KERAS_HOOKS = (Hook(PART, "keras.src.layers.layer", hook_layer),)
KERAS2_HOOKS = (Hook(PART, "utils.version_utils", hook_layer_selector),)
