"""Loops without a round to do, after a checkpoint was read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from holdfast.journal.events import LoopSkipped
from holdfast.probe.runtime.context import ProbeContext
from tests.probe.probed import new_context, recorded

_IN_A_FUNCTION = """
def main(goal):
    state = load()
    first = state["meta"]["{key}"]{more}
    for epoch in range(first, goal):
        train()
main({goal})
"""
_WITH_WHILE = """
class Counter:
    value = 5
def main():
    done = 5
    load()
    while done < {goal}:
        train()
        break
main()
"""


def _run(source: str, folder: Path, numbers: dict[str, int] | None) -> ProbeContext:
    context = new_context(folder / "run")
    file = folder / "train.py"
    file.write_text(source)

    def load() -> Any:
        context.skipped_loops.state_read(numbers)
        return {"meta": numbers}

    exec(compile(source, str(file), "exec"), {"load": load, "train": lambda: None})
    context.skipped_loops.report_at_exit()
    return context


@pytest.mark.parametrize(
    ("key", "more", "goal", "found"),
    [
        ("epoch", "", 5, (5, 5)),
        ("epoch", " + 1", 6, (6, 6)),
        ("epoch", "", 6, None),
        ("other", "", 5, None),
    ],
)
def test_a_start_that_comes_from_the_state(
    tmp_path: Path, key: str, more: str, goal: int, found: tuple[int, int] | None
) -> None:
    source = _IN_A_FUNCTION.format(key=key, more=more, goal=goal)
    numbers = {"epoch": 5, "other": 2}
    seen = recorded(_run(source, tmp_path, numbers), LoopSkipped)
    assert [(one.first, one.goal) for one in seen] == ([found] if found else [])
    if found:
        assert (seen[0].counter, seen[0].bound) == ("first", "goal")
        assert seen[0].where.endswith("train.py:5")


@pytest.mark.parametrize(("goal", "found"), [(5, [(5, 5)]), (6, [])])
def test_a_while_whose_counter_was_restored(tmp_path: Path, goal: int, found: list[tuple[int, int]]) -> None:
    seen = recorded(_run(_WITH_WHILE.format(goal=goal), tmp_path, None), LoopSkipped)
    assert [(one.first, one.goal) for one in seen] == found


def test_a_run_that_trained_says_nothing(tmp_path: Path) -> None:
    context = new_context(tmp_path / "run")
    context.heartbeat.step = 3
    context.skipped_loops.state_read({"epoch": 5})
    context.skipped_loops.report_at_exit()
    assert recorded(context, LoopSkipped) == []
