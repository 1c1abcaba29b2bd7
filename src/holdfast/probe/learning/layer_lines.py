"""Which line of the user's code made a layer."""

from __future__ import annotations

import weakref
from typing import Any

from ..runtime import user_lines
from ..runtime.context import ProbeContext
from ..runtime.hook import Hook
from ..runtime.wrapping import observe

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
    lines = context.learning.lines
    observe(context, module.Layer, "__init__", PART, before=lambda args, kwargs: lines.made(args[0]))


KERAS_HOOKS = (Hook(PART, "keras.src.layers.layer", hook_layer),)
KERAS2_HOOKS = (Hook(PART, "engine.base_layer", hook_layer),)
