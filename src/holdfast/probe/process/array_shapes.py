"""After a failure to put arrays together: which of them is of another shape than the rest.

NumPy does not say. The list that it was given is still held by a frame of the exception.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from ...journal.events import ArrayShapesDiffered
from ..runtime import frame_locals, user_lines
from ..runtime.context import ProbeContext

_WORDS = re.compile(
    r"all input arrays must have the same shape|inhomogeneous shape|could not broadcast input array"
)
_MOST_LOOKED_AT = 100_000


def look(session: ProbeContext, error: BaseException, message: str) -> None:
    """Told once for an exception, however many layers it leaves."""
    if not _WORDS.search(message) or session.seen.get("pieces") == id(error):
        return
    found = odd_one(error)
    if found is not None:
        session.seen["pieces"] = id(error)
        session.say(found)


def odd_one(error: BaseException) -> ArrayShapesDiffered | None:
    """The shape that most have, the first of another one, and where it stands in its list; innermost frames first."""
    for _, _, _, frame in reversed(list(user_lines.frames_of(error.__traceback__))):
        for value in list(frame_locals.of(frame).values())[:50]:
            shapes = _shapes(value)
            if len(set(shapes)) < 2:
                continue
            usual = Counter(shapes).most_common(1)[0][0]
            odd = next(number for number, shape in enumerate(shapes) if shape != usual)
            return ArrayShapesDiffered(usual=list(usual), odd=list(shapes[odd]), index=odd, total=len(shapes))
    return None


def _shapes(value: Any) -> list[tuple[int, ...]]:
    """Of a list of arrays and nothing else."""
    if not isinstance(value, list | tuple) or not 2 <= len(value) <= _MOST_LOOKED_AT:
        return []
    if not all(hasattr(one, "shape") and hasattr(one, "dtype") for one in value):
        return []
    return [tuple(int(side) for side in one.shape) for one in value]
