"""Which line of the user's own code: not of a framework, not of the standard library, not of the probe."""

from __future__ import annotations

import functools
import linecache
import os
import re
import sys
import sysconfig
from collections.abc import Iterator
from types import CodeType, FrameType, TracebackType
from typing import Any

from ... import user_code
from .. import command_line

PROBE_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_LIBRARIES = tuple(
    os.path.abspath(path) + os.sep
    for path in {sysconfig.get_paths()[key] for key in ("stdlib", "platstdlib")}
    | {os.path.dirname(os.__file__)}
)
_START_FOLDER = os.getcwd() if os.path.isdir(".") else "/"
_COMMAND = frozenset(command_line.words()[1:])  # with a script that may have no ending
#: `python -c`; `multiprocessing` and joblib start their workers that way too.
_RUNS_STRING = "-c" in _COMMAND and not any("multiprocess" in word or "loky" in word for word in _COMMAND)
_FRAMEWORKS = (
    "keras",
    "tf_keras",
    "tensorflow",
    "jax",
    "jaxlib",
    "torch",
    "keras_hub",
    "numpy",
    "flax",
    "optax",
)
_TEXT_FRAME = re.compile(r'File "([^"\n]+)", line (\d+)(?:, in ([^\s]+))?')


@functools.lru_cache(maxsize=4096)
def is_user_file(path: str) -> bool:
    """The common rule, and what only the process itself knows: where its libraries lie, and how it was started."""
    if path == "<string>":
        return _RUNS_STRING
    if not user_code.is_user_file(path) and path not in _COMMAND:
        return False
    return not (os.path.isabs(path) and path.startswith((*_LIBRARIES, *_framework_folders())))


def _framework_folders() -> Iterator[str]:
    """A framework may lie outside site-packages: a checkout installed for editing, a folder on PYTHONPATH."""
    for name in _FRAMEWORKS:
        module = sys.modules.get(name)
        for folder in list(getattr(module, "__path__", None) or ()):
            yield os.path.abspath(folder) + os.sep


def is_source(path: str) -> bool:
    return path.endswith((".py", ".pyc", ".so", ".cc", ".h"))


def is_probe(path: str) -> bool:
    return path.startswith(PROBE_FOLDER)


@functools.lru_cache(maxsize=4096)
def short(path: str) -> str:
    """Relative to where the script was started, or from the package on for installed code."""
    for mark in ("/site-packages/", "/dist-packages/"):
        if mark in path:
            return path.rsplit(mark, 1)[1]
    for library in _LIBRARIES:
        if path.startswith(library):
            return path[len(library) :]
    for folder in _framework_folders():
        if path.startswith(folder):
            return os.path.relpath(path, os.path.dirname(folder.rstrip(os.sep)))
    if path.startswith("<"):
        return path
    absolute = os.path.abspath(path)
    inside = absolute.startswith(_START_FOLDER.rstrip(os.sep) + os.sep)
    return os.path.relpath(absolute, _START_FOLDER) if inside else absolute


def of_frame(frame: FrameType | None) -> str:
    return f"{short(frame.f_code.co_filename)}:{frame.f_lineno}" if frame is not None else ""


def of_code(code: CodeType) -> str:
    return f"{short(code.co_filename)}:{code.co_firstlineno}"


def of_function(function: Any) -> str:
    """Where a function, a method, a partial or a class was written."""
    for _ in range(8):
        function = getattr(function, "__wrapped__", None) or getattr(function, "func", None) or function
        function = getattr(function, "__func__", function)
    code = getattr(function, "__code__", None)
    if isinstance(code, CodeType):
        return of_code(code)
    if isinstance(function, type):
        return of_class(function)
    return ""


def of_class(kind: type) -> str:
    """File and the first line of a method of the class; parsing its source to be exact would cost too much."""
    codes = [
        getattr(getattr(member, "__func__", member), "__code__", None) for member in list(vars(kind).values())
    ]
    own = [code for code in codes if isinstance(code, CodeType)]
    if own:
        first = min(own, key=lambda code: code.co_firstlineno)
        return of_code(first)
    module = sys.modules.get(kind.__module__)
    file = getattr(module, "__file__", None)
    return short(file) if file else ""


def caller(frame: FrameType | None = None) -> FrameType | None:
    """The nearest frame of user code, from the given frame (or the caller's) outwards."""
    frame = frame or sys._getframe(1)
    while frame is not None and not is_user_file(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def caller_line() -> str:
    return of_frame(caller(sys._getframe(1)))


def frames_of(trace: TracebackType | None) -> Iterator[tuple[str, int, str, FrameType]]:
    """File, line, function and frame, outermost first."""
    while trace is not None:
        code = trace.tb_frame.f_code
        yield code.co_filename, trace.tb_lineno, code.co_name, trace.tb_frame
        trace = trace.tb_next


def in_text(text: str) -> list[tuple[str, int, str]]:
    """Lines named by a traceback inside a message, as TensorFlow writes for an error in a Python function."""
    return [(_rooted(match[1]), int(match[2]), match[3] or "") for match in _TEXT_FRAME.finditer(text)]


def _rooted(path: str) -> str:
    """XLA leaves out the first slash of a path."""
    return "/" + path if path[:1] not in "/<" and os.path.exists("/" + path) else path


def source(path: str, line: int) -> str:
    return linecache.getline(path, line).strip()[:200]
