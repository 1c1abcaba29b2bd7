"""Rounds of loops, worked out from the source and the variables of a frame."""

from __future__ import annotations

import linecache
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Any

import pytest

from holdfast.probe.state import loop_bounds

Look = Callable[..., list[Any]]


@pytest.fixture
def look(tmp_path: Path) -> Look:
    """Runs a script whose `here()` tells which loops it is in."""

    def run(source: str, **given: Any) -> list[Any]:
        file = tmp_path / f"train_{len(list(tmp_path.iterdir()))}.py"
        file.write_text(source)
        linecache.checkcache(str(file))
        found: list[list[Any]] = []

        def here() -> None:
            frame: FrameType = sys._getframe(1)
            found.append([(one.kind, one.first, one.goal, one.bound) for one in loop_bounds.around(frame)])

        exec(compile(source, str(file), "exec"), {"here": here, **given})
        return found[0]

    return run


def test_ranges(look: Look) -> None:
    assert look("for step in range(10):\n    here()\n") == [("range", 0, 10, "10")]
    assert look("a, n = 3, 7\nfor step in range(a, n * 2):\n    here()\n") == [("range", 3, 14, "n * 2")]
    assert look("for step in range(0, 10, 2):\n    here()\n") == [("range", None, None, "10")]
    assert look("for step in tqdm(range(4)):\n    here()\n", tqdm=iter) == [("range", 0, 4, "4")]


def test_nested_loops_come_from_the_outermost(look: Look) -> None:
    source = "for epoch in range(3):\n    for batch in data:\n        here()\n"
    assert look(source, data=[1]) == [("range", 0, 3, "3"), ("data", None, None, "data")]


def test_a_while_counts_to_its_bound(look: Look) -> None:
    source = "step = 2\nwhile step < goal:\n    here()\n    step += 1\n"
    assert look(source, goal=4) == [("while", 2, 4, "goal")]
    assert look(source.replace("<", "<="), goal=4) == [("while", 2, 5, "goal")]
    assert look("while True:\n    here()\n    break\n") == [("while", None, None, "True")]


def test_bounds_of_settings_and_lengths(look: Look) -> None:
    arguments = SimpleNamespace(steps=6)
    assert look("for i in range(args.steps):\n    here()\n", args=arguments)[0][2] == 6
    assert look('for i in range(c["steps"]):\n    here()\n', c={"steps": 5})[0][2] == 5
    assert look("for i in range(len(x) // 2):\n    here()\n", x=[0] * 8)[0][2] == 4


def test_loops_of_the_caller_are_not_those_of_the_function(look: Look) -> None:
    source = "def inner():\n    here()\nfor i in range(3):\n    inner()\n"
    assert look(source) == []


def test_nothing_of_the_users_is_called(look: Look) -> None:
    class Own:
        def __len__(self) -> int:
            raise AssertionError("called")

        @property
        def steps(self) -> int:
            raise AssertionError("called")

    source = "for i in list_of(own):\n    here()\n"
    assert look(source, own=Own(), list_of=lambda _: [1]) == [("data", None, None, "list_of(own)")]
    assert (
        look("for i in range(2 if own.steps else 1):\n    here()\n", own=SimpleNamespace(steps=3))[0][2]
        is None
    )
    looked = loop_bounds.value(__import__("ast").parse("len(own)", mode="eval").body, {"own": Own()})
    assert looked is None
    assert loop_bounds.value(__import__("ast").parse("own.steps", mode="eval").body, {"own": Own()}) is None
