"""Data that ends before the loop that draws from it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.journal.events import DataRanOut, LoopPlanned
from holdfast.probe.runtime.context import ProbeContext
from tests.probe.probed import new_context, recorded


def _run(source: str, folder: Path, **given: Any) -> ProbeContext:
    context = new_context(folder / "run")
    file = folder / "train.py"
    file.write_text(source)

    def step() -> None:
        context.heartbeat.step += 1
        if context.heartbeat.step == 1:
            context.data_end.first_step()

    names = {"step": step, "ended": context.data_end.asked_in_vain, **given}
    exec(compile(source, str(file), "exec"), names)
    context.data_end.report_at_exit()
    return context


_TAKES_THE_END = """
data = iter([0] * 5)
for number in range(goal):
    try:
        next(data)
    except StopIteration:
        ended()
        break
    step()
"""


def test_an_iterator_that_ends_in_a_bounded_loop(tmp_path: Path) -> None:
    context = _run(_TAKES_THE_END, tmp_path, goal=50)
    [seen] = recorded(context, DataRanOut)
    assert (seen.step, seen.planned, seen.bound, seen.one_shot) == (5, 50, "goal", False)
    assert seen.where.endswith("train.py:7")
    [plan] = recorded(context, LoopPlanned)
    assert plan.steps == 50


def test_the_last_round_may_find_the_end(tmp_path: Path) -> None:
    assert recorded(_run(_TAKES_THE_END, tmp_path, goal=6), DataRanOut) == []


def test_a_loop_that_starts_the_data_again(tmp_path: Path) -> None:
    source = _TAKES_THE_END.replace("        break\n", "        data = iter([0] * 5)\n        next(data)\n")
    context = _run(source, tmp_path, goal=12)
    assert context.heartbeat.step == 12
    assert recorded(context, DataRanOut) == []


def test_a_loop_without_a_bound_ends_with_its_data(tmp_path: Path) -> None:
    source = _TAKES_THE_END.replace("for number in range(goal):", "while True:")
    assert recorded(_run(source, tmp_path, goal=6), DataRanOut) == []


_TWICE = """
data = batches()
for epoch in range(4):
    for batch in data:
        step()
"""


def _batches() -> Iterator[int]:
    yield from range(3)


def test_a_generator_inside_a_loop_of_epochs(tmp_path: Path) -> None:
    context = _run(_TWICE, tmp_path, batches=_batches)
    [seen] = recorded(context, DataRanOut)
    assert (seen.step, seen.planned, seen.iterator, seen.one_shot) == (3, 4, "data", True)


@pytest.mark.parametrize(
    "source",
    [
        _TWICE.replace("range(4)", "range(1)"),
        _TWICE.replace("        step()\n", "        step()\n        break\n"),
        _TWICE.replace("data = batches()\n", "").replace(
            "    for batch in", "    data = batches()\n    for batch in"
        ),
    ],
)
def test_generators_that_are_used_as_they_should(tmp_path: Path, source: str) -> None:
    assert recorded(_run(source, tmp_path, batches=_batches), DataRanOut) == []


_IN_A_FUNCTION = """
def sweep(rows):
    for row in rows:
        step()

data = batches()
for epoch in range(4):
    sweep(data)
"""


@pytest.mark.parametrize(
    "made", ["zip(range(3), 'abc')", "map(str, range(3))", "filter(None, [1, 2, 3])", "iter([1, 2, 3])"]
)
@pytest.mark.parametrize("source", [_TWICE, _IN_A_FUNCTION])
def test_other_iterators_that_are_gone_through_once(tmp_path: Path, source: str, made: str) -> None:
    context = _run(source.replace("data = batches()", f"data = {made}"), tmp_path)
    [seen] = recorded(context, DataRanOut)
    assert (seen.step, seen.planned, seen.one_shot) == (3, 4, True)
    assert seen.iterator == ("rows" if source is _IN_A_FUNCTION else "data")


@pytest.mark.parametrize(
    "source",
    [
        _IN_A_FUNCTION.replace("sweep(data)", "sweep(batches())"),
        _IN_A_FUNCTION.replace("    sweep(data)", "    data = batches()\n    sweep(data)"),
        _IN_A_FUNCTION.replace("data = batches()", "data = [1, 2, 3]"),
        _IN_A_FUNCTION.replace("        step()", "        step()\n        return"),
        _TWICE.replace("batches()", "zip('abc', 'abc')").replace(
            "    for batch in data:\n        step()",
            "    try:\n        for batch in data:\n            step()\n    except ValueError:\n        pass",
        ),
    ],
)
def test_data_that_starts_again_or_may_be_left(tmp_path: Path, source: str) -> None:
    assert recorded(_run(source, tmp_path, batches=_batches), DataRanOut) == []
