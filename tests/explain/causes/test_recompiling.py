"""XLA that compiles at most steps: counted by traces, by steps of a loop, by executable memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.explain import Strength
from holdfast.journal import events as ev
from tests.explain.made import MIB, Run, facts, remedies


def _on_jax(run: Run, traces: int) -> None:
    run.probe(ev.FrameworkSeen(name="keras", backend="jax", devices=["cpu:0"]))
    run.probe(
        ev.TracesCounted(function="train_step", traces=traces, calls=0, signatures=["compiled in 1.2 s"])
    )
    run.ended(0)


def example(run: Run) -> None:
    _on_jax(run, 32)


def near_miss(run: Run) -> None:
    _on_jax(run, 3)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path / "run")


def test_the_compiles_are_counted(run: Run) -> None:
    example(run)
    values = run.first().title.values
    assert (values["function"], values["compiles"], values["calls"]) == ("train_step", 32, None)
    assert remedies(run.first()) == ["shapes.pad", "shapes.use-a-few"]


@pytest.mark.parametrize(("steps", "found"), [(60, True), (4000, False)])
def test_a_loop_on_jax_counts_steps(run: Run, steps: int, found: bool) -> None:
    """Nobody counts the calls of a jitted function; the steps are known."""
    run.probe(ev.FrameworkSeen(name="jax"), ev.LoopSeen(by="jax", where="train.py:20"))
    compiled = {"function": "jit(train_step)", "where": "train.py:20", "signatures": ["compiled in 2.1 s"]}
    run.probe(ev.TracesCounted(traces=32, **compiled))  # type: ignore[arg-type]
    run.samples(3, rss_bytes=600 * MIB, phase="between", step=steps)
    run.ended(0)
    assert ("recompiling" in run.slugs()) is found
    if found:
        counted = facts(run.first())["compile.counted"]
        assert (counted["calls"], counted["counted_steps"]) == (60, True)


def _machine_code(run: Run, *looks: tuple[int, int]) -> None:
    run.fit(steps=60)
    for step, regions in looks:
        run.probe(ev.MachineCodeCounted(function="one_step_on_data", regions=regions, step=step))
    run.epochs([60])
    run.ended(0)


def test_xla_that_compiles_without_a_trace_is_known_by_its_machine_code(run: Run) -> None:
    _machine_code(run, (1, 2), (20, 42), (60, 120))
    first = run.first()
    assert (first.title.kind, first.strength) == ("recompiling.every-batch", Strength.ESTABLISHED)
    assert (first.title.values["compiles"], first.title.values["steps"]) == (59, 59)


@pytest.mark.parametrize("last", [(50, 8), (60, 24)])
def test_a_few_programs_for_a_few_shapes_are_no_recompiling(run: Run, last: tuple[int, int]) -> None:
    _machine_code(run, (1, 2), last)
    assert "recompiling" not in run.slugs()


@pytest.mark.parametrize("times", [1, 3, 4])
def test_compiling_slowly_again_and_again_is_only_possible(run: Run, times: int) -> None:
    """Once is what any large model takes: for the first batch, the last one and the validation."""
    line = "Very slow compile? If you want to file a bug, run with XLA_FLAGS=--xla_dump_to=/tmp/foo\n"
    run.output(line * times)
    run.fit()
    run.epochs([100] * 3)
    run.ended(0)
    found = [(one.title.kind, one.strength) for one in run.verdict().findings]
    assert found == ([("recompiling.slow", Strength.POSSIBLE)] if times == 4 else [])


@pytest.mark.parametrize(("expected", "found"), [(32, False), (20, True)])
def test_compilations_while_a_model_is_built_and_at_the_start_of_a_fit_do_not_count(
    run: Run, expected: int, found: bool
) -> None:
    run.probe(ev.FrameworkSeen(name="keras", backend="jax", devices=["cpu:0"]))
    run.probe(
        ev.TracesCounted(function="jit(add)", traces=32, expected=expected, signatures=["compiled in 1.2 s"])
    )
    run.samples(3, rss_bytes=600 * MIB, phase="step", step=4)
    run.ended(0)
    assert ("recompiling" in run.slugs()) is found


@pytest.mark.parametrize(
    ("again", "seconds", "steps", "strength"),
    [
        (13, 240.0, 14, Strength.SUPPORTED),
        (5, 90.0, 6, Strength.POSSIBLE),
        (5, 2.0, 6, None),  # the first steps of anything
        (5, 90.0, 40, None),  # lengths in a few buckets
    ],
)
def test_a_few_steps_that_each_took_minutes(
    run: Run, again: int, seconds: float, steps: int, strength: Strength | None
) -> None:
    run.probe(ev.FrameworkSeen(name="jax"), ev.LoopSeen(by="jax", where="train.py:20"))
    counted = {"traces": again + 1, "expected": 1, "seconds": seconds, "signatures": ["compiled in 20 s"]}
    run.probe(ev.TracesCounted(function="jit(train_step)", where="train.py:20", **counted))  # type: ignore[arg-type]
    run.samples(3, rss_bytes=600 * MIB, phase="between", step=steps)
    run.ended(0)
    found = [one.strength for one in run.verdict().findings if one.cause == "recompiling"]
    assert found == ([strength] if strength else [])
