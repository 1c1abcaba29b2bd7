"""What was at hand when an exception left the script: the files and arrays of the user's frames, innermost first.

Messages name an operation; what it was given decides the cause: a file that ends too early, an index above the size of
a table, a list without entries, what a callback has never set.
"""

from __future__ import annotations

import itertools
import os
from typing import Any

from ...journal.events import AtHandSeen
from ..runtime import frame_locals, user_lines
from . import file_completeness, named_paths

PART = "at_hand"
_MOST_FRAMES, _MOST_NAMES, _MOST_NEAR = 6, 60, 30
_MOST_FILES, _MOST_ARRAYS, _MOST_EMPTY = 10, 20, 10
_MOST_VALUES = 1_000_000  # of an array whose range is read
_MOST_INSIDE, _MOST_UNSET = 20, 10  # objects of a list or of `self`, attributes


def seen(error: BaseException, paths: list[str]) -> AtHandSeen | None:
    every = list(user_lines.frames_of(error.__traceback__))
    trace = [one for one in every if user_lines.is_user_file(one[0])]
    files = [one for one in map(_file, paths[:_MOST_FILES]) if one is not None]
    near = [path for path in dict.fromkeys([*_named(trace), *_read_by_libraries(every)]) if path not in paths]
    files += [one for one in map(_file, near[:_MOST_NEAR]) if one is not None and one["missing"]]
    arrays: list[dict[str, Any]] = []
    empty: list[str] = []
    for _, _, _, frame in trace[::-1][:_MOST_FRAMES]:
        for name, value in list(frame_locals.of(frame).items())[:_MOST_NAMES]:
            if name.startswith("_") or isinstance(value, type):
                continue
            if isinstance(value, (list, tuple, dict, set)) and not len(value):
                empty.append(name)
            elif len(arrays) < _MOST_ARRAYS:
                arrays += [one for one in [_array(name, value)] if one is not None]
    unset = _unset([frame for _, _, _, frame in trace]) if "NoneType" in str(error) else []
    if not (files or arrays or empty or unset):
        return None
    return AtHandSeen(files=files, arrays=arrays, empty=empty[:_MOST_EMPTY], unset=unset)


def _unset(frames: list[Any]) -> list[dict[str, Any]]:
    """Attributes that these functions read, and that are None, of callbacks that watch a metric."""
    near = frames[::-1][:_MOST_FRAMES]
    read = {name for frame in near for name in frame.f_code.co_names}
    reachable = [one for frame in near for one in _reachable(frame)]
    found = []
    for own in [_attributes(one) for one in reachable]:
        for name in sorted(read & set(own)) if isinstance(own.get("monitor"), str) else ():
            if own[name] is None:
                found.append({"monitor": own["monitor"], "attribute": name})
    return [one for number, one in enumerate(found) if one not in found[:number]][:_MOST_UNSET]


def _reachable(frame: Any) -> list[Any]:
    """The values of its variables, and those inside lists and `self`."""
    variables = dict(list(frame_locals.of(frame).items())[:_MOST_NAMES])
    lists = [value for value in variables.values() if isinstance(value, (list, tuple))]
    lists.append(list(_attributes(variables.get("self")).values()))
    return [*variables.values(), *(one for values in lists for one in values[:_MOST_INSIDE])]


def _attributes(value: Any) -> dict[str, Any]:
    try:
        own = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}
    return own if isinstance(own, dict) else {}


def _named(trace: list[Any]) -> list[str]:
    """Files that the lines of the user's functions name, innermost first."""
    return [path for _, line, _, frame in trace[::-1][:_MOST_FRAMES] for path in named_paths.of(frame, line)]


def _read_by_libraries(trace: list[Any]) -> list[str]:
    """Files of the library functions below the user's last one, innermost first."""
    below = list(itertools.takewhile(lambda one: not user_lines.is_user_file(one[0]), reversed(trace)))
    return [path for _, _, _, frame in below[:_MOST_FRAMES] for path in named_paths.of_library(frame)]


def _file(path: str) -> dict[str, Any] | None:
    if not os.path.isfile(path):
        return None
    try:
        missing = file_completeness.why_incomplete(path)
    except Exception:  # a header that is no header
        missing = None
    if missing is None:
        return None
    return {"path": path, "bytes": os.path.getsize(path), "missing": missing}


def _array(name: str, value: Any) -> dict[str, Any] | None:
    try:
        if not (hasattr(value, "shape") and hasattr(value, "dtype")):
            return None
        shape = [int(side) for side in value.shape]
    except Exception:  # a function, as of numpy itself; the open shape of a symbol; what a lazy object raises
        return None
    import numpy as np

    found: dict[str, Any] = {
        "name": name,
        "shape": shape,
        "dtype": str(getattr(value.dtype, "name", value.dtype)),
    }
    if isinstance(value, np.ndarray) and 0 < value.size <= _MOST_VALUES and value.dtype.kind in "fiub":
        with np.errstate(all="ignore"):
            found.update(min=float(value.min()), max=float(value.max()))
    return found
