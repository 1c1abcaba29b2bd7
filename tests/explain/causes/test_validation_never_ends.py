"""Validations without an end, long ones, and stalled ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from holdfast.explain import Strength
from holdfast.journal import events as ev
from tests.explain.made import MIB, Run, facts, main_in_fit, remedies, sentence, title_of


def example(run: Run) -> None:
    run.fit(validation=True)
    run.probe(ev.DatasetSeen(role="validation", type="tf.data", cardinality=-1, where="train.py:31"))
    run.probe(ev.ValidationStarted(fit=1, epoch=0))
    run.samples(
        30,
        rss_bytes=600 * MIB,
        phase="validation",
        fit=1,
        step=100,
        train_batches=100,
        test_batches=lambda n: 40 * n + 4,
    )
    run.ended(signal="SIGINT")


def near_miss(run: Run) -> None:
    """Long, and with an end."""
    run.fit(validation=True)
    run.probe(ev.DatasetSeen(role="validation", type="tf.data", cardinality=5000))
    run.probe(ev.ValidationStarted(fit=1, epoch=0, planned_batches=5000))
    run.samples(
        30,
        rss_bytes=600 * MIB,
        phase="validation",
        fit=1,
        step=100,
        train_batches=100,
        test_batches=lambda n: 40 * n + 4,
    )
    run.ended(signal="SIGINT")


def _validating(
    path: Path, data: ev.DatasetSeen | None, *, batches: int = 40, fit: int | None = 1, **fields: Any
) -> Run:
    run = Run(path / "run")
    run.fit(validation=True, **fields)
    if data is not None:
        run.probe(data)
    run.probe(ev.ValidationStarted(fit=fit, epoch=0))
    run.samples(
        30, rss_bytes=600 * MIB, phase="validation", fit=1, step=100, train_batches=100,
        test_batches=lambda n: batches * n + 4,
    )  # fmt: skip
    run.ended(signal="SIGINT")
    return run


def test_infinite_data_without_validation_steps(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    first = run.first()
    assert first.strength == Strength.ESTABLISHED
    assert first.title.values == {"batches": 1164, "infinite": True}
    assert facts(first)["validation.unfinished"] == {"batches": 1164, "training_steps": 100}
    assert facts(first)["dataset.infinite"] == {"where": "train.py:31"}
    assert remedies(first) == ["fit.give-validation-steps"]


def test_validation_steps_end_it(tmp_path: Path) -> None:
    data = ev.DatasetSeen(role="validation", type="tf.data", cardinality=-1)
    run = _validating(tmp_path, data, batches=10, validation_steps=5000)
    assert "validation-never-ends" not in run.slugs()


@pytest.mark.parametrize(("batches", "fit", "found"), [(40, 1, True), (30, 1, False), (40, None, False)])
def test_data_of_unknown_length_by_how_much_longer_it_is_than_training(
    tmp_path: Path, batches: int, fit: int | None, found: bool
) -> None:
    data = ev.DatasetSeen(role="validation", type="generator", cardinality=-2)
    run = _validating(tmp_path, data, batches=batches, fit=fit)
    strengths = [one.strength for one in run.verdict().findings if one.cause == "validation-never-ends"]
    assert strengths == ([Strength.SUPPORTED] if found else [])


def test_the_supervisor_saw_it_run_beyond_every_plan(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.supervisor(ev.EndlessSeen(what="validation", batches=900, for_s=90.0, why="no plan", sure=True))
    near_miss(run)
    first = run.first()
    assert (first.cause, first.strength) == ("validation-never-ends", Strength.ESTABLISHED)
    assert facts(first)["validation.endless"] == {"batches": 900, "seconds": 90.0, "why": "no plan"}


def test_a_validation_that_stalled_is_not_endless(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.fit(validation=True)
    run.probe(ev.DatasetSeen(role="validation", type="tf.data", cardinality=-1))
    run.probe(ev.ValidationStarted(fit=1, epoch=0))
    run.samples(8, rss_bytes=600 * MIB, phase="validation", fit=1, step=100, test_batches=7)
    run.stalled("validation", main_in_fit())
    run.stopped()
    assert "validation-never-ends" not in run.slugs()


@pytest.mark.parametrize(
    ("planned", "cardinality", "found"), [(9000, -1, True), (250, -1, False), (9000, -2, False)]
)
def test_a_validation_that_is_planned_in_samples(
    tmp_path: Path, planned: int, cardinality: int, found: bool
) -> None:
    """More batches than the whole training, of data that repeats."""
    run = Run(tmp_path / "run")
    run.fit(validation=True, epochs=3, validation_steps=planned)
    run.probe(ev.DatasetSeen(role="validation", type="generator", cardinality=cardinality))
    run.probe(ev.ValidationStarted(fit=1, epoch=0, planned_batches=planned))
    run.samples(
        30, rss_bytes=600 * MIB, phase="validation", fit=1, step=100, train_batches=100,
        test_batches=lambda n: 40 * n + 4,
    )  # fmt: skip
    run.ended(signal="SIGINT")
    assert ("validation-never-ends" in run.blamed()) is found
    if found:
        finding = next(one for one in run.verdict().findings if one.cause == "validation-never-ends")
        assert finding.title.values == {"batches": 1164, "planned": 9000}
        assert facts(finding)["training.planned-steps"] == {"steps": 300}
        assert remedies(finding) == ["fit.count-validation-in-batches"]


def _own_pass(
    path: Path,
    *,
    batches: int = 100,
    seconds: int = 90,
    cardinality: int = -1,
    head: bool = True,
    **fields: Any,
) -> Run:
    """Steps of a loop, and then a pass over other data in which none is done."""
    run = Run(path / "run")
    run.probe(ev.DatasetSeen(type="tf.data", cardinality=-1, where="train.py:66"))
    run.probe(ev.LoopSeen(by="tf_function", where="train.py:33"), ev.PassDone(number=1, steps=20))
    run.probe(ev.DatasetSeen(role="validation", type="tf.data", cardinality=cardinality, where="train.py:54"))
    if head:
        run.probe(ev.DataOnlyLoopSeen(where="train.py:53", role="validation"))
    run.samples(
        5, rss_bytes=600 * MIB, phase="step", step=lambda n: 4 * n + 4, train_batches=lambda n: 4 * n + 4
    )
    moved = {"step": 20, "train_batches": 0, "test_batches": lambda n: batches * n + 4, **fields}
    run.samples(seconds, rss_bytes=600 * MIB, phase="step", **moved)
    return run


def _asked_to_end(run: Run) -> Run:
    run.supervisor(ev.SignalReceived(signal="SIGTERM"))
    run.ended(signal="SIGTERM", stopped_by_us="terminate")
    return run


def _found(run: Run) -> list[tuple[str, Strength]]:
    return [(one.cause, one.strength) for one in run.verdict().findings]


def test_an_evaluation_of_ones_own_over_infinite_data(tmp_path: Path) -> None:
    """Somebody gave up: the signal is an answer to it."""
    run = _asked_to_end(_own_pass(tmp_path))
    assert _found(run) == [
        ("validation-never-ends", Strength.ESTABLISHED),
        ("preempted", Strength.POSSIBLE),
    ]
    first = run.first()
    assert title_of(first) == (
        "validation does not end: the dataset of the loop at train.py:53 is infinite, "
        "and no training step is done in it"
    )
    assert [sentence(fact) for fact in first.because] == [
        "8,904 validation batches so far, after 20 steps of training an epoch",
        "no training step was done in the last 89 s, while its batches were drawn",
        "the dataset reports that it is infinite (train.py:54)",
        "the loop at train.py:53 has no break",
    ]
    assert remedies(first) == ["loop.take-batches", "dataset.without-repeat"]


def test_it_is_found_while_it_runs(tmp_path: Path) -> None:
    assert _found(_own_pass(tmp_path, seconds=10)) == [("validation-never-ends", Strength.ESTABLISHED)]


def test_ctrl_c_in_it_is_an_answer_to_it(tmp_path: Path) -> None:
    run = _own_pass(tmp_path)
    run.supervisor(ev.SignalReceived(signal="SIGINT"))
    run.raised("KeyboardInterrupt", "", user_line="train.py:54")
    assert _found(run) == [
        ("validation-never-ends", Strength.ESTABLISHED),
        ("terminal-signal", Strength.POSSIBLE),
    ]


def test_a_signal_that_came_soon_is_no_answer(tmp_path: Path) -> None:
    run = _asked_to_end(_own_pass(tmp_path, seconds=10))
    assert ("preempted", Strength.ESTABLISHED) in _found(run)


@pytest.mark.parametrize(
    ("batches", "strength"), [(300, Strength.SUPPORTED), (100, Strength.POSSIBLE), (2, None)]
)
def test_a_loop_that_a_break_may_end_is_judged_by_its_length(
    tmp_path: Path, batches: int, strength: Strength | None
) -> None:
    found = dict(_found(_asked_to_end(_own_pass(tmp_path, batches=batches, head=False))))
    assert found.get("validation-never-ends") == strength
    assert found["preempted"] == (
        Strength.POSSIBLE if strength == Strength.SUPPORTED else Strength.ESTABLISHED
    )


@pytest.mark.parametrize(
    "fields",
    [
        {"cardinality": 9000},
        {"step": lambda n: 20 + n, "train_batches": lambda n: n},  # steps are done in it
        {"test_batches": lambda n: 100 * n % 1200},  # many passes, each with an end
        {"test_batches": 50},  # it waits for a batch
    ],
)
def test_other_passes_are_not_endless(tmp_path: Path, fields: dict[str, Any]) -> None:
    run = _asked_to_end(_own_pass(tmp_path, **fields))
    assert _found(run) == [("preempted", Strength.ESTABLISHED)]


def test_training_after_it_has_left_it(tmp_path: Path) -> None:
    run = _own_pass(tmp_path)
    run.samples(9, rss_bytes=600 * MIB, phase="step", step=lambda n: 21 + n, train_batches=lambda n: 1 + n)
    assert _found(_asked_to_end(run)) == [("preempted", Strength.ESTABLISHED)]


def test_an_error_in_it_is_the_error(tmp_path: Path) -> None:
    run = _own_pass(tmp_path)
    run.raised("ValueError", "bad shape")
    assert _found(run) == [("script-error", Strength.ESTABLISHED)]
