"""A filter that passes nothing: by busy threads, and by tf.data's own counters."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.explain import Strength
from holdfast.journal import events as ev
from holdfast.journal.stack_files import Frame
from tests.explain.made import Run, facts, main_in_fit, native, pipeline, python_thread, remedies, user


def example(run: Run) -> None:
    run.fit(
        data=pipeline(
            {"op": "repeat", "count": -1},
            {"op": "filter", "where": "train.py:15", "function": "keep"},
            cardinality=-2,
        )
    )
    run.stalled("fill", main_in_fit(), native(state="R", wait="", cpu_s=0.95), step=0)
    run.stopped()


def near_miss(run: Run) -> None:
    """The same pipeline, but the user's own generator is what is busy."""
    run.fit(
        data=pipeline(
            {"op": "generator"},
            {"op": "filter", "where": "train.py:15"},
            {"op": "repeat", "count": -1},
            cardinality=-2,
        )
    )
    busy = python_thread(
        4002,
        user(9, "examples"),
        Frame("/venv/lib/python3.11/site-packages/tensorflow/python/ops/script_ops.py", 1, "__call__"),
        state="R",
        wait="",
        cpu_s=0.97,
    )
    run.stalled("fill", main_in_fit(), busy, step=0)
    run.stopped()


def test_native_threads_search_while_no_batch_comes(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    first = run.first()
    assert first.strength == Strength.SUPPORTED
    assert facts(first)["pipeline.threads-busy"] == {"count": 1, "names": ["tf_Compute"]}
    assert facts(first)["pipeline.filter"] == {"where": "train.py:15", "function": "keep"}
    assert "pipeline.repeats" in facts(first)
    assert remedies(first) == ["filter.count-what-passes", "filter.before-repeat"]


def test_an_endless_repeat_alone_is_only_possible(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.fit(data=pipeline({"op": "repeat", "count": -1}, cardinality=-2))
    run.stalled("fill", main_in_fit(), native(state="R", wait="", cpu_s=0.95), step=0)
    run.stopped()
    strengths = [one.strength for one in run.verdict().findings if one.cause == "filter-never-passes"]
    assert strengths == [Strength.POSSIBLE]


@pytest.mark.parametrize(("taken", "passed", "found"), [(5000, 0, True), (5000, 1, False), (900, 0, False)])
def test_the_counters_of_tf_data(tmp_path: Path, taken: int, passed: int, found: bool) -> None:
    run = Run(tmp_path / "run")
    run.fit(data=pipeline({"op": "filter"}, cardinality=-2))
    for elements in ((0, 100), (passed, 100 + taken)):
        names = ("FilterDataset", "RepeatDataset")
        nodes = [{"name": name, "elements": count} for name, count in zip(names, elements, strict=True)]
        run.probe(ev.PipelineSeen(role="train", nodes=nodes))
    run.stalled("fill", main_in_fit(), step=0)
    run.stopped()
    assert ("filter-never-passes" in run.slugs()) is found
    if found:
        assert run.first().strength == Strength.ESTABLISHED
        assert facts(run.first())["filter.passed-none"]["elements"] == taken


@pytest.mark.parametrize(("phase", "found"), [("validation", True), ("step", False)])
def test_the_counters_of_a_validation(tmp_path: Path, phase: str, found: bool) -> None:
    """Those of the data that is drawn from when it stalls."""
    run = Run(tmp_path / "run")
    run.fit(data=pipeline({"op": "range"}, cardinality=50))
    for given in (100, 5100):
        nodes = [{"name": "FilterDataset", "elements": 3}, {"name": "ForeverRepeat", "elements": given}]
        run.probe(ev.PipelineSeen(role="validation", nodes=nodes))
    run.stalled(phase, main_in_fit(), step=50)
    run.stopped()
    named = [one.strength for one in run.verdict().findings if one.cause == "filter-never-passes"]
    assert named == ([Strength.ESTABLISHED] if found else [])
