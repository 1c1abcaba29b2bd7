"""Functions in the user's source: where a line is in them, what they call, and the variables that they begin with."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from types import FunctionType
from typing import Any

from ..runtime import user_lines
from . import loop_source

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
SCOPES = (*_FUNCTIONS, ast.ClassDef, ast.Lambda)


def function_around(tree: ast.Module, line: int) -> list[Any]:
    body: list[Any] = tree.body
    for node in ast.walk(tree):
        if isinstance(node, _FUNCTIONS) and spans(node, line):
            body = node.body  # ast.walk comes to inner functions later
    return body


def function_at(file: str, line: int, name: str) -> Any:
    """By the line where it begins, or its first decorator does."""
    if not user_lines.is_user_file(file):
        return None
    for node in ast.walk(loop_source.tree_of(file)):
        if isinstance(node, _FUNCTIONS) and node.name == name:
            begins = [node.lineno, *(one.lineno for one in node.decorator_list)]
            if line in (node.lineno, min(begins)):
                return node
    return None


def spans(node: Any, line: int) -> bool:
    return bool(node.lineno <= line <= (getattr(node, "end_lineno", 0) or 0))


def after(node: Any, block: list[Any]) -> list[Any]:
    return [*node.orelse, *node.finalbody] if isinstance(node, ast.Try) and block is node.body else []


def made_calls(node: Any) -> Iterator[ast.Call]:
    """Inner calls first; not those of functions that are only written there."""
    if isinstance(node, (*SCOPES, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
        return
    for child in ast.iter_child_nodes(node):
        yield from made_calls(child)
    if isinstance(node, ast.Call):
        yield node


def called_name(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def variables(function: FunctionType) -> tuple[dict[str, Any], list[str]]:
    """Those that it has before its arguments, and the names of its parameters."""
    code, names = function.__code__, dict(function.__globals__)
    cells = zip(code.co_freevars, function.__closure__ or ())
    names.update((name, cell.cell_contents) for name, cell in cells if _is_filled(cell))
    parameters, defaults = list(code.co_varnames[: code.co_argcount]), function.__defaults__ or ()
    names.update(zip(parameters[len(parameters) - len(defaults) :], defaults))
    names.update(function.__kwdefaults__ or {})
    return names, parameters


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not cell
    except ValueError:
        return False
