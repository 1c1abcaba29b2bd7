"""Files that the lines of a function name: `(FOLDER / "last.msgpack").read_bytes()` leaves no variable behind.

Only texts and paths are put together, from the variables that the frame still has; nothing of the script is called.
Written for Python 3.7, where a text in the source is an `ast.Str`.
"""

from __future__ import annotations

import ast
import functools
import io
import linecache
import os
from types import FrameType
from typing import Any

from ..runtime import frame_locals

_MOST_NODES, _MOST_CHARACTERS, _MOST_NAMES = 2000, 400_000, 60
_JOINS = ("join", "Path", "PurePath", "str", "fspath", "joinpath")
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def of(frame: FrameType, line: int) -> list[str]:
    """Files that are there, named up to this line of the frame's function; the last first."""
    named = {**frame.f_globals, **frame_locals.of(frame)}
    code = frame.f_code
    found: list[str] = []
    for node in _expressions(code.co_filename, code.co_name, code.co_firstlineno):
        if node.lineno > line:
            continue
        path = path_of(_value(node, named))
        if path:
            found.append(path)
    return list(dict.fromkeys(found[::-1]))


def of_library(frame: FrameType) -> list[str]:
    """Files that the variables of a library's function name or have open, and those of its object."""
    named = frame_locals.of(frame)
    values = [*named.values(), *getattr(named.get("self"), "__dict__", {}).values()]
    return [path for path in map(path_of, values[:_MOST_NAMES]) if path]


def path_of(value: Any) -> str:
    """The file that the value names, or "". A variable may be anything: a class of paths, an object that raises when it
    is asked, and none of them may cost the exception its record."""
    try:
        return "" if isinstance(value, type) else _named_file(value)
    except Exception:
        return ""


def _named_file(value: Any) -> str:
    """The value as a path, when it is a short text that names a file which is there."""
    if (
        type(value).__name__ == "EagerTensor"
        and getattr(value.dtype, "name", "") == "string"
        and not len(value.shape)
    ):
        value = value.numpy()
    if hasattr(value, "__fspath__"):
        value = os.fspath(value)
    if isinstance(value, io.IOBase):
        value = getattr(value, "name", "")
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    short = isinstance(value, str) and 2 < len(value) < 400 and "\0" not in value and "\n" not in value
    return str(value) if short and ("/" in value or "." in value) and os.path.isfile(value) else ""


@functools.lru_cache(maxsize=32)
def _expressions(file: str, function: str, first_line: int) -> tuple[Any, ...]:
    """Of texts and paths, in the order of the source; those of functions inside it are their own."""
    text = "".join(linecache.getlines(file))
    try:
        tree: Any = ast.parse(text) if len(text) < _MOST_CHARACTERS else None
    except (SyntaxError, ValueError, RecursionError):
        return ()
    if tree is not None and function != "<module>":
        tree = next((node for node in ast.walk(tree) if _is_named(node, function, first_line)), None)
    nodes = [node for node in _own_nodes(tree) if isinstance(node, _PATHS)] if tree is not None else []
    return tuple(sorted(nodes[:_MOST_NODES], key=lambda node: node.lineno))


_PATHS = (ast.BinOp, ast.JoinedStr, ast.Call, ast.Name, ast.Attribute, getattr(ast, "Constant", ast.expr),
          *((ast.Str,) if not hasattr(ast, "Constant") else ()))  # fmt: skip


def _is_named(node: Any, function: str, first_line: int) -> bool:
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) or node.name != function:
        return False
    return first_line in (node.lineno, *(one.lineno for one in node.decorator_list))


def _own_nodes(tree: Any) -> list[Any]:
    found: list[Any] = []
    for node in ast.iter_child_nodes(tree):
        if not isinstance(node, _SCOPES):
            found.append(node)
            found += _own_nodes(node)
    return found


def _value(node: Any, named: dict[str, Any]) -> Any:
    """A text or a path; None for anything else."""
    if isinstance(node, ast.Name):
        value = named.get(node.id)
        return value if isinstance(value, (str, os.PathLike, int)) else None
    if isinstance(
        node, ast.Attribute
    ):  # of an object of the user's own: `self.path`, without asking a property
        owner = named.get(node.value.id) if isinstance(node.value, ast.Name) else None
        value = (
            getattr(owner, "__dict__", {}).get(node.attr)
            if not isinstance(owner, (str, os.PathLike))
            else None
        )
        return value if isinstance(value, (str, os.PathLike)) else None
    if isinstance(node, ast.BinOp):
        return _joined(node, named)
    if isinstance(node, ast.JoinedStr):
        parts = [_formatted(part, named) for part in node.values]
        return "".join(parts) if all(part is not None for part in parts) else None
    if isinstance(node, ast.Call):
        return _called(node, named)
    text = getattr(node, "value", getattr(node, "s", None))
    return text if isinstance(text, str) else None


def _joined(node: Any, named: dict[str, Any]) -> Any:
    left, right = _value(node.left, named), _value(node.right, named)
    if (
        isinstance(node.op, ast.Div)
        and isinstance(left, os.PathLike)
        and isinstance(right, (str, os.PathLike))
    ):
        return os.path.join(os.fspath(left), os.fspath(right))
    both = isinstance(left, str) and isinstance(right, str)
    return left + right if isinstance(node.op, ast.Add) and both else _slashed(node, left, right)


def _slashed(node: Any, left: Any, right: Any) -> Any:
    """`a / "b" / "c"`: what was joined already is a text."""
    joined = isinstance(node.op, ast.Div) and isinstance(node.left, (ast.BinOp, ast.Call))
    return (
        os.path.join(left, str(right))
        if joined and isinstance(left, str) and isinstance(right, str)
        else None
    )


def _formatted(node: Any, named: dict[str, Any]) -> Any:
    if not isinstance(node, ast.FormattedValue):
        return _value(node, named)
    value = _value(node.value, named)
    spec = _value(node.format_spec, named) if node.format_spec is not None else ""
    if value is None or spec is None:
        return None
    return format(os.fspath(value) if isinstance(value, os.PathLike) else value, spec)


def _called(node: Any, named: dict[str, Any]) -> Any:
    """`os.path.join(a, b)`, `Path(a, b)`, `folder.joinpath(b)`."""
    called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if called not in _JOINS or node.keywords or not node.args:
        return None
    given = [_value(one, named) for one in node.args]
    if called == "joinpath" and isinstance(node.func, ast.Attribute):
        given.insert(0, _value(node.func.value, named))
    if not all(isinstance(one, (str, os.PathLike)) for one in given):
        return None
    return os.path.join(*map(os.fspath, given))
