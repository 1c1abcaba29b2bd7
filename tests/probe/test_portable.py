"""What enters the user's process can run in the oldest Python that the probe supports: checked from its source alone.

`test_interpreters.py` runs it in the interpreters of this machine; this file needs none of them.
"""

from __future__ import annotations

import ast
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent.parent
SOURCE = ROOT / "src" / "holdfast"
OLDEST = (3, 7)
#: Written for every Python, 2.7 too; run in all of them by `test_interpreters.py`.
INJECTED = SOURCE / "probe" / "inject" / "sitecustomize.py"
_BUILTIN_GENERICS = {"list", "dict", "tuple", "set", "frozenset", "type"}
_NEWER_METHODS = {"removeprefix", "removesuffix", "bit_count", "is_relative_to", "with_stem"}


def imported_modules(path: Path) -> Iterator[Path]:
    """The modules of Holdfast that this one imports, at its top or later, and the packages around them."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            folder = path.parents[node.level - 1].joinpath(*(node.module or "").split("."))
            for target in (folder, *(folder / name.name for name in node.names)):
                packages = [
                    parent / "__init__.py" for parent in (target, *target.parents) if parent != SOURCE
                ]
                yield from (
                    one for one in (target.with_suffix(".py"), *packages) if one.is_relative_to(SOURCE)
                )


def closed_set() -> list[Path]:
    """Every module that may be loaded in the user's process."""
    pending, found = list((SOURCE / "probe").rglob("*.py")), set()
    while pending:
        path = pending.pop()
        if path not in found and path.exists():
            found.add(path)
            pending += imported_modules(path)
    return sorted(found)


def named(path: Path) -> str:
    return str(path.relative_to(SOURCE))


in_the_process = pytest.mark.parametrize("path", closed_set(), ids=named)


def test_the_set_is_closed_and_contains_what_is_known_to_run_there() -> None:
    names = {named(path) for path in closed_set()}
    assert {"journal/writer.py", "journal/beats.py", "journal/events/fit_events.py", "user_code.py"} <= names
    assert "journal/reader.py" not in names and "errors.py" not in names
    for path in closed_set():
        for node in ast.walk(ast.parse(path.read_text())):
            modules = [name.name for name in node.names] if isinstance(node, ast.Import) else []
            modules += [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
            assert not any(module.split(".")[0] == "holdfast" for module in modules), f"{path}: not relative"


@in_the_process
def test_ruff_does_not_ask_for_newer_syntax(path: Path) -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["ruff"]
    targets = {
        target for pattern, target in settings["per-file-target-version"].items() if _matches(path, pattern)
    }
    assert targets == {f"py{OLDEST[0]}{OLDEST[1]}"}


def _matches(path: Path, pattern: str) -> bool:
    before, brace, rest = pattern.partition("{")
    names, _, after = rest.partition("}")
    return any(
        path in set(ROOT.glob(before + name + after)) for name in (names.split(",") if brace else [""])
    )


@in_the_process
def test_the_syntax_is_old_enough(path: Path) -> None:
    ast.parse(path.read_text(), feature_version=OLDEST)


@in_the_process
def test_nothing_newer_is_evaluated(path: Path) -> None:
    tree = as_run(path)
    generic = {*_BUILTIN_GENERICS, *_names_from(tree, ("collections", "collections.abc"))}
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            assert node.value.id not in generic, f"{ast.unparse(node)}: use `typing`"
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("isinstance", "issubclass"):
            assert not isinstance(node.args[1], ast.BinOp), f"{ast.unparse(node)}: use a tuple"
        if isinstance(node, ast.Attribute):
            assert node.attr not in _NEWER_METHODS, ast.unparse(node)


@in_the_process
def test_nothing_newer_of_the_standard_library_is_used(path: Path) -> None:
    if path == INJECTED:
        pytest.skip("asks for what it uses; run in every interpreter by test_interpreters.py")
    vermin = pytest.importorskip("vermin")
    visitor = vermin.visit(ast.unparse(as_run(path)))
    newest = [version for version in visitor.minimum_versions() if version is not None]
    assert all(version <= OLDEST for version in newest), visitor.output_text()


def test_the_checks_find_what_they_look_for(tmp_path: Path) -> None:
    def source(text: str) -> Path:
        path = tmp_path / "module.py"
        path.write_text(text)
        return path

    for text in ("Json = dict[str, int]\n", "isinstance(1, int | str)\n", "print('x'.removeprefix('y'))\n"):
        with pytest.raises(AssertionError):
            test_nothing_newer_is_evaluated(source(text))
    test_nothing_newer_is_evaluated(source("def f(x: dict[str, int]) -> int | None: ...\n"))
    with pytest.raises(SyntaxError):
        test_the_syntax_is_old_enough(source("if (x := 1): pass\n"))
    if "vermin" in sys.modules:
        with pytest.raises(AssertionError):
            test_nothing_newer_of_the_standard_library_is_used(source("import math\nmath.prod([1])\n"))
        test_nothing_newer_of_the_standard_library_is_used(
            source("import math, sys\nif sys.version_info >= (3, 8):\n    math.prod([1])\n")
        )


def as_run(path: Path) -> ast.Module:
    """What the oldest Python evaluates: no annotations, nothing for the type checker, nothing for newer ones."""
    tree = _Oldest().visit(ast.parse(path.read_text()))
    assert isinstance(tree, ast.Module)
    return ast.fix_missing_locations(tree)


def _names_from(tree: ast.Module, modules: tuple[str, ...]) -> set[str]:
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module in modules]
    return {name.asname or name.name for node in imports for name in node.names}


class _Oldest(ast.NodeTransformer):
    def generic_visit(self, node: ast.AST) -> ast.AST:
        """An `if` on the version is one of its branches; behind one that returns there is nothing."""
        super().generic_visit(node)
        for field in ("body", "orelse"):
            block = getattr(node, field, None)
            if isinstance(block, list):
                setattr(node, field, list(_until_return(block)) or ([ast.Pass()] if field == "body" else []))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.returns = None
        return node

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        self.generic_visit(node)
        return ast.Assign([node.target], node.value) if node.value is not None else ast.Pass()

    def visit_If(self, node: ast.If) -> Any:
        self.generic_visit(node)
        taken = _is_taken(node.test)
        return node if taken is None else (node.body if taken else node.orelse or ast.Pass())


def _until_return(block: list[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in block:
        yield statement
        if isinstance(statement, ast.Return):
            return


def _is_taken(test: ast.expr) -> bool | None:
    """By the oldest Python; None for a condition that is not about the version."""
    text = ast.unparse(test)
    if text == "TYPE_CHECKING":
        return False
    if isinstance(test, ast.Compare) and text.startswith("sys.version_info"):
        known: bool = eval(text.replace("sys.version_info", repr(OLDEST)))
        return known
    return None
