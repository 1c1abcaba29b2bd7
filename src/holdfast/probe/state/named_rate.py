"""The learning rate of a loop that has no optimizer, by the name that the user's code gives it."""

from __future__ import annotations

import math
import re
from typing import Any

from ..runtime import frame_locals, user_lines

_MAX_FRAMES = 4
_NAME = re.compile(r"^(?:\w*_)?(?:lr|learning_rate|step_size)$|^(?:eta|alpha)$", re.IGNORECASE)
_OF_SOMETHING_ELSE = re.compile(r"min|max|final|end|decay|factor|warm", re.IGNORECASE)


class NamedRate:
    """In the place of an optimizer: asked for its learning rate, it looks."""

    @property
    def learning_rate(self) -> float | None:
        return find()


def find() -> float | None:
    frame = user_lines.caller()
    for _ in range(_MAX_FRAMES):
        if frame is None:
            return None
        found = _among(frame_locals.of(frame))
        found = found if found is not None else _among(frame.f_globals)
        if found is not None:
            return found
        frame = user_lines.caller(frame.f_back) if frame.f_back is not None else None
    return None


def _among(names: dict[str, Any]) -> float | None:
    for name, value in list(names.items()):
        if not isinstance(name, str) or not _NAME.match(name) or _OF_SOMETHING_ELSE.search(name):
            continue
        if type(value) in (int, float) and value > 0 and math.isfinite(value):
            return float(value)
    return None
