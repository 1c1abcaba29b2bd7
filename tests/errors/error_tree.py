"""Every error class, read from the source: importing all of it would load TensorFlow."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import NamedTuple

from holdfast import errors

SOURCE = Path(errors.__file__).parent


class ErrorClass(NamedTuple):
    name: str
    base: str
    slug: str
    advice: str
    file: str


def modules() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text()) for path in sorted(SOURCE.rglob("*.py"))}


def error_classes(trees: dict[Path, ast.Module]) -> list[ErrorClass]:
    """HoldfastError and its subclasses, each after its base. A name that is defined twice is listed twice."""
    left = [
        (path, node) for path, tree in trees.items() for node in tree.body if isinstance(node, ast.ClassDef)
    ]
    found: list[ErrorClass] = []
    known = {"Exception": ErrorClass("Exception", "", "", "", "")}
    while new := [(path, node) for path, node in left if _base(node) in known and _is_ours(node, found)]:
        left = [one for one in left if one not in new]
        made = [_made(path, node, known[_base(node)]) for path, node in new]
        found += made
        known |= {one.name: one for one in made}
    return found


def _is_ours(node: ast.ClassDef, found: list[ErrorClass]) -> bool:
    return _base(node) != "Exception" if found else node.name == "HoldfastError"


def _made(path: Path, node: ast.ClassDef, base: ErrorClass) -> ErrorClass:
    own = _texts(node)
    slug, advice = own.get("slug", base.slug), own.get("advice", base.advice)
    return ErrorClass(node.name, base.name, slug, advice, str(path.relative_to(SOURCE)))


def _base(node: ast.ClassDef) -> str:
    return node.bases[0].id if node.bases and isinstance(node.bases[0], ast.Name) else ""


def _texts(node: ast.ClassDef) -> dict[str, str]:
    return {
        target.id: line.value.value
        for line in node.body
        if isinstance(line, ast.Assign) and isinstance(line.value, ast.Constant)
        for target in line.targets
        if isinstance(target, ast.Name) and isinstance(line.value.value, str)
    }


def calls(trees: dict[Path, ast.Module]) -> list[tuple[str, str, set[str | None]]]:
    """Where a class or function is called by its name: the name, the place, the names of its keyword arguments."""
    return [
        (node.func.id, f"{path.relative_to(SOURCE)}:{node.lineno}", {word.arg for word in node.keywords})
        for path, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    ]
