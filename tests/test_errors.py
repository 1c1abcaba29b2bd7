"""The tree of errors, and how one is rendered. tests/errors raises each by a real mistake."""

from __future__ import annotations

import errno
import json
import os
import re
from collections import Counter

import pytest

from holdfast import errors
from holdfast.errors import ExitCode, HoldfastError, from_json, nearest, of_os
from holdfast.report.text import render_error
from tests.conftest import RENDERED
from tests.errors import error_tree, test_command_line, test_data, test_models, test_recipe, test_runs

TREES = error_tree.modules()
CLASSES = error_tree.error_classes(TREES)
CALLS = error_tree.calls(TREES)


def test_slugs_are_unique_and_in_kebab_case() -> None:
    assert len(CLASSES) > 40
    assert [slug for slug, count in Counter(one.slug for one in CLASSES).items() if count > 1] == []
    assert [one.slug for one in CLASSES if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", one.slug)] == []


def test_every_error_is_raised_by_a_real_mistake_and_its_text_is_stored() -> None:
    """A class that only has subclasses, and is never raised itself, has no text."""
    raised = {name for name, _, _ in CALLS}
    texts = [path.read_text() for path in RENDERED.rglob("*.txt")]
    seen = {slug for text in texts for slug in re.findall(r"^error\[([a-z0-9-]+)\]: ", text, re.MULTILINE)}
    bases = {one.base for one in CLASSES}
    assert [
        one for one in CLASSES if one.slug not in seen and not (one.name in bases and one.name not in raised)
    ] == []


def test_every_stored_error_has_its_mistake() -> None:
    tables = (
        test_command_line.MISTAKES, test_recipe.MISTAKES, test_recipe.HOT, test_runs.MISTAKES, test_data.MISTAKES,
        test_models.MISTAKES,
    )  # fmt: skip
    names = [name for table in tables for name in table]
    assert sorted(names) == sorted(path.stem for path in (RENDERED / "errors").glob("*.txt"))


def test_every_error_that_is_raised_says_what_to_change() -> None:
    """In the call, or by its class."""
    advice = {one.name: one.advice for one in CLASSES}
    assert [
        f"{name} at {place}"
        for name, place, given in CALLS
        if name in advice and not advice[name] and not given & {"change", None}
    ] == []


def long_error() -> HoldfastError:
    return errors.RecipeNotToml(
        "this is a sentence that is long enough to be folded at the eightieth column of a terminal",
        where="data/a folder/recipe.toml:12",
        found=[
            "the first fact",
            "a second fact, with /a/path/that/is/not/broken/in/the/middle/of/its/name.toml",
        ],
        change="one thing to change",
        more="holdfast causes loss-not-finite",
    )


def test_lines_are_folded_at_spaces_and_paths_are_not() -> None:
    assert render_error(long_error()).splitlines() == [
        "error[recipe-not-toml]: this is a sentence that is long enough to be folded at",
        "  the eightieth column of a terminal",
        "  where   data/a folder/recipe.toml:12",
        "  found   the first fact",
        "          a second fact, with",
        "            /a/path/that/is/not/broken/in/the/middle/of/its/name.toml",
        "  change  one thing to change",
        "  more    holdfast causes loss-not-finite",
    ]


def test_empty_slots_are_left_out() -> None:
    assert render_error(HoldfastError("only this")) == "error[error]: only this"


def test_colour_changes_no_letter() -> None:
    error = long_error()
    assert re.sub(r"\x1b\[\d+m", "", render_error(error, colour=True)) == render_error(error)


def test_json_has_every_slot_and_can_be_read_back() -> None:
    error = errors.UnknownSetting("w", where="x:1", found=["a", "b"], change="c", more="m")
    assert json.loads(json.dumps(error.as_json())) == {
        "error": "unknown-setting", "what": "w", "where": "x:1", "found": ["a", "b"], "change": ["c"], "more": "m",
    }  # fmt: skip
    assert from_json(error.as_json()).as_json() == error.as_json()


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
def test_errors_of_the_system(number: int, slug: str) -> None:
    error = of_os(OSError(number, os.strerror(number), "/some/path"))
    assert error.slug == slug
    assert error.where == "/some/path"
    assert error.exit_code is ExitCode.COULD_NOT


def test_the_advice_of_a_class_is_the_default() -> None:
    assert render_error(errors.PathMissing("x")).endswith("  change  give a path that exists")
    assert errors.PathMissing("x").as_json()["change"] == ["give a path that exists"]
    assert render_error(errors.PathMissing("x", change="y")).endswith("  change  y")
