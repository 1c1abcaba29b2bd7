"""Every kind of fact, title, remedy and reason has its words, every word has a kind, and templates print values."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.explain import Fact
from holdfast.report import wording
from holdfast.report.wording.template import HOW_PRINTED, filled, listed

EXPLAIN = Path(holdfast.__file__).parent / "explain"
TABLES: dict[str, dict[str, Any]] = {
    "Fact": wording.FACTS,
    "Title": wording.TITLES,
    "Remedy": wording.REMEDIES,
    "RuledOut": wording.RULED_OUT,
}


def strings() -> set[str]:
    """Every string in `explain` that could be a kind."""
    found = set()
    for path in EXPLAIN.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.add(node.value)
    return found


def _kind(node: ast.AST, record: str) -> str | None:
    """The kind in a call of `Fact("…")` and the like, where it is written as such."""
    if not isinstance(node, ast.Call) or not node.args or not isinstance(node.args[0], ast.Constant):
        return None
    named = (isinstance(node.func, ast.Name) and node.func.id == record) or (
        isinstance(node.func, ast.Attribute) and node.func.attr == "fact" and record == "Fact"
    )
    return str(node.args[0].value) if named else None


def kinds(record: str) -> list[tuple[str, str]]:
    """The kinds that are written as such, with their places."""
    found = []
    for path in EXPLAIN.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            kind = _kind(node, record)
            if kind is not None and isinstance(node, ast.Call):
                found.append((kind, f"{path.name}:{node.lineno}"))
    return found


@pytest.mark.parametrize("record", TABLES)
def test_every_kind_has_its_words(record: str) -> None:
    assert [(kind, place) for kind, place in kinds(record) if kind not in TABLES[record]] == []


@pytest.mark.parametrize("record", TABLES)
def test_no_words_are_left_over(record: str) -> None:
    assert sorted(set(TABLES[record]) - strings()) == []


_PLACE = re.compile(r"\{(\w+)(?::(\w*)[^{}]*)?\}")
_OPTIONAL = re.compile(r"\[[^\[\]]*\]")


def test_every_place_is_printed_in_a_way_that_there_is() -> None:
    """Also in templates that a function chooses from."""
    unknown = []
    for module in wording.TABLES:
        for node in ast.walk(ast.parse(Path(str(module.__file__)).read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                hows = {place[2] for place in _PLACE.finditer(node.value) if place[2]}
                unknown += [f"{module.__name__}:{node.lineno} {how}" for how in hows - HOW_PRINTED]
    assert unknown == []


def _functions(tree: ast.Module) -> list[ast.AST]:
    return [node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.Lambda))]


def _keys(values: ast.AST | None, function: ast.AST) -> set[str] | None:
    """Of a dict that is written as such, or of a local variable that is given one; None where that cannot be read."""
    if isinstance(values, ast.Name):
        inside = list(ast.walk(function))
        bound = [one for one in inside if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)]
        given = [
            node.value
            for node in inside
            if isinstance(node, ast.Assign)
            and any(isinstance(target, ast.Name) and target.id == values.id for target in node.targets)
        ]
        once = [one.id for one in bound].count(values.id) == 1
        return _keys(given[0], function) if given and once else None
    if not isinstance(values, ast.Dict):
        return None
    found: set[str] = set()
    for key, value in zip(values.keys, values.values, strict=True):
        more = {str(key.value)} if isinstance(key, ast.Constant) else _keys(value, function)
        if more is None:
            return None
        found |= more
    return found


def _given(call: ast.Call, function: ast.AST) -> set[str] | None:
    """The names of the values in a call of `Fact("…", {…})` or `….fact("…", name=…)`."""
    found: set[str] = set()
    parts = [_keys(values, function) for values in call.args[1:2] if isinstance(call.func, ast.Name)]
    parts += [{word.arg} if word.arg else _keys(word.value, function) for word in call.keywords]
    for part in parts:
        if part is None:
            return None
        found |= part
    return found


@pytest.mark.parametrize("record", TABLES)
def test_every_value_that_a_sentence_needs_is_given(record: str) -> None:
    """As far as the values are written where the kind is; `made.Run.verdict` renders the others."""
    missing = []
    for path in EXPLAIN.rglob("*.py"):
        for function in _functions(ast.parse(path.read_text())):
            for node in ast.walk(function):
                kind = _kind(node, record)
                if kind is None or not isinstance(node, ast.Call):
                    continue
                text = TABLES[record].get(kind)
                text = getattr(text, "do", text)
                given = _given(node, function)
                if isinstance(text, str) and given is not None:
                    needed = {place[1] for place in _PLACE.finditer(_OPTIONAL.sub("", text))}
                    missing += [f"{path.name}:{node.lineno} {kind}: {name}" for name in needed - given]
    assert missing == []


def test_no_kind_is_worded_twice() -> None:
    for name, table in (("FACTS", wording.FACTS), ("TITLES", wording.TITLES), ("REMEDIES", wording.REMEDIES)):
        assert sum(len(getattr(module, name, {})) for module in wording.TABLES) == len(table)


def test_places_are_printed_in_their_units() -> None:
    values = {"bytes": 1536, "seconds": 95, "steps": 1, "loss": 0.123456, "share": 0.5, "code": "x  =\n 1"}
    text = "{bytes:size}, {seconds:duration}, {steps:count step}, {loss:number}, {share:percent}, {code:code}"
    assert filled(text, values) == "1.5 KiB, 95 s, 1 step, 0.1235, 50 %, `x = 1`"
    assert filled("{n:count process/processes}", {"n": 2}) == "2 processes"
    assert filled("{text:clip 4}", {"text": "abcdef"}) == "abc…"
    assert listed(["a", "b", "c"], 2) == "a, b and 1 more"


def test_brackets_are_left_out_without_their_values() -> None:
    text = "the disk is full[ at {path}][{caught:if}; caught]"
    assert filled(text, {"path": "/data [old]", "caught": True}) == "the disk is full at /data [old]; caught"
    assert filled(text, {"path": "", "caught": False}) == "the disk is full"
    assert filled("step[ {step}]", {"step": 0}) == "step 0"
    assert filled("subprocess.run([…])", {}) == "subprocess.run([…])"


def test_a_slip_in_one_sentence_does_not_cost_the_answer() -> None:
    assert wording.sentence(Fact("no.such-kind", {"a": 1})) == "(no wording) no.such-kind: a 1"
    assert wording.sentence(Fact("summary.duration", {})).startswith(wording.UNWORDED)


def test_one_step_is_a_step() -> None:
    assert wording.summary((Fact("summary.steps", {"steps": 1, "of": None}),)) == "1 step done"
