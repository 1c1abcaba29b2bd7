"""Every error class is rendered and compared with a stored text."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable, Iterator

import pytest

from holdfast import errors
from holdfast.errors import ExitCode, HoldfastError, nearest, of_os
from holdfast.report.text import render_error


def tree(root: type[HoldfastError] = HoldfastError) -> Iterator[type[HoldfastError]]:
    yield root
    for child in root.__subclasses__():
        if child.__module__ == errors.__name__:
            yield from tree(child)


CLASSES = sorted(set(tree()), key=lambda kind: kind.slug)


def specimen(kind: type[HoldfastError]) -> HoldfastError:
    return kind(
        f"this is what a {kind.slug} says, in a sentence that is long enough to be folded at eighty columns",
        where="data/a folder/recipe.toml:12",
        found=[
            "the first fact",
            "a second fact, with /a/path/that/must/not/be/broken/in/the/middle/of/its/name.toml",
        ],
        change="one thing to change",
        more=f"holdfast causes {kind.slug}",
    )


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.slug)
def test_every_error_reads_well(kind: type[HoldfastError], stored: Callable[[str, str], None]) -> None:
    text = render_error(specimen(kind))
    assert max(len(line) for line in text.splitlines() if "/a/path" not in line) <= 80
    stored(f"errors/{kind.slug}", text)


def test_slugs_are_kebab_case_and_stand_once() -> None:
    slugs = [kind.slug for kind in CLASSES]
    assert len(set(slugs)) == len(slugs)
    assert all(slug == slug.lower() and " " not in slug and "_" not in slug for slug in slugs)


def test_slots_with_nothing_to_say_are_left_out() -> None:
    assert render_error(HoldfastError("only this")) == "error[error]: only this"


def test_colour_changes_no_letter() -> None:
    import re

    error = specimen(HoldfastError)
    assert re.sub(r"\x1b\[\d+m", "", render_error(error, colour=True)) == render_error(error)


def test_as_json_holds_every_slot() -> None:
    error = errors.UnknownSetting("w", where="x:1", found=["a", "b"], change="c", more="m")
    assert json.loads(json.dumps(error.as_json())) == {
        "error": "unknown-setting", "what": "w", "where": "x:1", "found": ["a", "b"], "change": ["c"], "more": "m",
    }  # fmt: skip


def test_the_nearest_name() -> None:
    assert nearest("trian", ["train", "explain", "eval"]) == "train"
    assert nearest("RETINANET", ["ssd", "retinanet"]) == "retinanet"
    assert nearest("zzz", ["train"]) is None
    assert nearest("x", []) is None


@pytest.mark.parametrize(
    ("number", "slug"),
    [(errno.ENOENT, "path-missing"), (errno.EISDIR, "not-a-file"), (errno.ENOTDIR, "not-a-folder"),
     (errno.EACCES, "permission-denied"), (errno.ENOSPC, "disk-full"), (errno.EIO, "file")],
)  # fmt: skip
def test_the_systems_own_errors_are_put_into_words(number: int, slug: str) -> None:
    error = of_os(OSError(number, os.strerror(number), "/some/path"))
    assert error.slug == slug
    assert error.where == "/some/path"
    assert error.exit_code is ExitCode.COULD_NOT


def test_every_error_that_is_raised_says_what_to_change() -> None:
    """In the call, or by its class: a reader who is told only what is wrong is left alone with it."""
    import ast
    from pathlib import Path

    classes = {kind.__name__: kind for kind in CLASSES}
    silent = []
    for path in Path(errors.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in classes:
                given = {word.arg for word in node.keywords}
                if not given & {"change", None} and not classes[node.func.id].advice:
                    silent.append(f"{path.name}:{node.lineno}")
    assert silent == []


def test_advice_of_the_class_stands_where_nothing_nearer_does() -> None:
    assert render_error(errors.PathMissing("x")).endswith("  change  give a path that exists")
    assert errors.PathMissing("x").as_json()["change"] == ["give a path that exists"]
    assert render_error(errors.PathMissing("x", change="y")).endswith("  change  y")
