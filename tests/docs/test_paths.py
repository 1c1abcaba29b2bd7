"""Every file of this repository that a page names is there: a map that is out of date is worse than none."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.blocks import ROOT, pages

#: From where a page may name a file: `train/loop.py` is one of the package's.
_BASES = (ROOT, ROOT / "src" / "holdfast")
_MAPS = (ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md")
#: Files of a reader's own.
_THEIRS = {
    ".py",
    "train.py",
    "data.yaml",
    "recipe.toml",
    "classes.txt",
    "labels.txt",
    "train.txt",
    "output.log",
}


def _named(page: Path) -> list[str]:
    """What stands in backticks; a code block is not read, words with a space or a placeholder are not paths."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.S | re.M)
    return [one for one in re.findall(r"`([^`\s]+)`", text) if not re.search(r"[<>*…{}$:=]|^[-~/]", one)]


def _is_there(name: str) -> bool:
    return any((base / name).exists() for base in _BASES)


@pytest.mark.parametrize("page", _MAPS, ids=lambda page: page.name)
def test_a_map_names_what_is_there(page: Path) -> None:
    paths = [one for one in _named(page) if "/" in one or one.endswith((".py", ".md", ".toml", ".json"))]
    assert paths, "a map names files"
    assert [one for one in paths if not _is_there(one)] == []


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_a_page_names_modules_that_are_there(page: Path) -> None:
    """Below the folder that a page is about, a module may be named without it: `rank.py` of `explain`."""
    known = {path.relative_to(ROOT).as_posix() for top in ("src", "tests", "benchmarks", "docs", "recipes")
             for path in (ROOT / top).rglob("*.py")}  # fmt: skip
    modules = [one for one in _named(page) if one.endswith(".py") and one not in _THEIRS]
    assert [
        one for one in modules if not any(path.endswith(f"/{one}") or path == one for path in known)
    ] == []
