"""The local variables of a function that is under way, read so that it does not notice.

Before Python 3.13 a frame keeps one dictionary of them. To ask for it brings it up to date, also where the function
has it from `locals()` and keeps it as it was; and what stays in it is kept alive when the function has dropped it.
"""

from __future__ import annotations

import dis
import functools
import inspect
import sys
from types import CodeType, FrameType
from typing import Any

_LENT = sys.version_info < (3, 13)
_HOLDERS = 3  # of a dictionary that nobody else has: the frame, a name here, and the call that counts them
_BETWEEN = ("PRECALL", "PUSH_NULL", "CACHE")


def of(frame: FrameType) -> dict[str, Any]:
    """By their names; none where reading would change what the function itself keeps."""
    code = frame.f_code
    if not code.co_flags & inspect.CO_OPTIMIZED:  # of a module or a class: these are the variables themselves
        return dict(frame.f_locals)
    if _LENT and shows_itself(code):
        return {}
    shown = frame.f_locals
    variables = dict(shown)
    traced = frame.f_trace is not None  # a debugger writes back what it was shown
    if type(shown) is dict and not traced and sys.getrefcount(shown) <= _HOLDERS:
        shown.clear()
    return variables


@functools.lru_cache(maxsize=512)
def shows_itself(code: CodeType) -> bool:
    """Whether it calls `locals()` or `vars()`, without an argument, and so may keep the dictionary."""
    if not {"locals", "vars"} & set(code.co_names):
        return False
    steps = [one for one in dis.get_instructions(code) if one.opname not in _BETWEEN]
    return any(
        named.argval in ("locals", "vars") and called.opname.startswith("CALL") and not called.arg
        for named, called in zip(steps, steps[1:])
    )
