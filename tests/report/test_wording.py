"""Every kind of fact, title, remedy and reason has its words, every word has a kind, and templates print values."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import holdfast
from holdfast.explain import Fact
from holdfast.report import wording
from holdfast.report.wording.template import filled, listed

EXPLAIN = Path(holdfast.__file__).parent / "explain"
TABLES = {
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


def kinds(record: str) -> list[tuple[str, str]]:
    """The kinds that are written as such in a call of `Fact("…")` and the like, with their places."""
    found = []
    for path in EXPLAIN.rglob("*.py"):
        text = path.read_text()
        for node in ast.walk(ast.parse(text)):
            called = node.func if isinstance(node, ast.Call) else None
            named = (isinstance(called, ast.Name) and called.id == record) or (
                isinstance(called, ast.Attribute) and called.attr == "fact" and record == "Fact"
            )
            if named and node.args and isinstance(node.args[0], ast.Constant):  # type: ignore[attr-defined]
                found.append((str(node.args[0].value), f"{path.name}:{node.lineno}"))  # type: ignore[attr-defined]
    return found


@pytest.mark.parametrize("record", TABLES)
def test_every_kind_has_its_words(record: str) -> None:
    assert [(kind, place) for kind, place in kinds(record) if kind not in TABLES[record]] == []


@pytest.mark.parametrize("record", TABLES)
def test_no_words_are_left_over(record: str) -> None:
    assert sorted(set(TABLES[record]) - strings()) == []


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
