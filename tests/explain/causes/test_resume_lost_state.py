"""A resume without the optimizer's state."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.explain import Strength
from holdfast.journal import events as ev
from tests.explain.made import Run, code_of, facts, remedies, title_of


def _resumed(run: Run, *, initial_epoch: int, iterations: int, restored: bool) -> None:
    run.probe(
        ev.Restored(
            path="last.weights.h5",
            by="load_weights",
            iterations=iterations,
            optimizer_restored=restored,
            where="train.py:22",
        )
    )
    run.probe(
        ev.FitStarted(
            epochs=8, initial_epoch=initial_epoch, planned_steps_per_epoch=100, iterations=iterations
        )
    )
    run.epochs([100] * (8 - initial_epoch))
    run.ended(0)


def example(run: Run) -> None:
    _resumed(run, initial_epoch=5, iterations=0, restored=False)


def near_miss(run: Run) -> None:
    """Pretrained weights for a training that begins."""
    _resumed(run, initial_epoch=0, iterations=0, restored=False)


def test_what_was_restored_is_a_fact(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    first = run.first()
    assert (first.cause, first.strength) == ("resume-lost-state", Strength.ESTABLISHED)
    assert facts(first)["checkpoint.without-optimizer"]["path"] == "last.weights.h5"
    assert facts(first)["fit.resumed-at"] == {"epoch": 5}
    assert remedies(first) == ["checkpoint.save-with-optimizer", "checkpoint.backup-and-restore"]


def test_a_run_that_resumes_from_its_step_0_has_lost_nothing(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.ended(130, stopped_by_us="interrupt")
    run._supervisor.attempt = run._probe.attempt = 2
    run.supervisor(ev.AttemptStarted(command=["python"], pid=4001))
    run.probe(ev.Restored(path="checkpoints/step-0", by="trainer", iterations=0, optimizer_restored=True))
    run.fit(epochs=1, steps=3, iterations=0)
    run.epochs([3], [8.3])
    run.ended(0)
    assert "resume-lost-state" not in run.slugs()


@pytest.mark.parametrize(
    ("path", "saved", "named"),
    [
        ("ckpt/e06.weights.h5", "ckpt/e01.weights.h5", True),
        ("/data/run/ckpt/e06-0.41.weights.h5", "ckpt/e01-1.20.weights.h5", True),
        ("ckpt/e06.weights.h5", "ckpt/e07.weights.h5", False),  # it counts on
        ("pretrained/e06.weights.h5", "ckpt/e01.weights.h5", False),  # from another training
        ("ckpt/best.weights.h5", "ckpt/best.weights.h5", False),  # a second stage may begin so
    ],
)
def test_checkpoints_that_are_numbered_from_the_start_again(
    tmp_path: Path, path: str, saved: str, named: bool
) -> None:
    run = Run(tmp_path / "run")
    run.probe(ev.Restored(path=path, by="load_weights", iterations=0, optimizer_restored=False))
    run.probe(ev.FitStarted(fit=1, epochs=3, planned_steps_per_epoch=100, iterations=0))
    run.probe(ev.SaveStarted(path=saved, by="ModelCheckpoint"))
    run.epochs([100] * 3)
    run.ended(0)
    found = [one for one in run.verdict().findings if one.cause == "resume-lost-state"]
    assert [one.strength for one in found] == ([Strength.SUPPORTED] if named else [])
    if named:
        assert facts(found[0])["checkpoint.numbered-again"] == {"path": path, "first": saved}


@pytest.mark.parametrize(
    ("given", "wanted", "code"),
    [
        ("module.0.weight", "0.weight", 'state = {name.removeprefix("module."): value'),
        ("0.weight", "net.0.weight", 'state = {"net." + name: value'),
        ("conv.weight", "fc.weight", "model.load_state_dict(state)"),
    ],
)  # fmt: skip
def test_a_state_of_which_nothing_was_taken(tmp_path: Path, given: str, wanted: str, code: str) -> None:
    run = Run(tmp_path / "run")
    run.probe(
        ev.StateDictLoaded(taken=0, given=6, wanted_name=wanted, given_name=given, where="train.py:40"),
        ev.LoopSeen(by="torch_optimizer", where="train.py:50"),
    )
    run.samples(3, rss_bytes=1 << 20, phase="step", step=100)
    run.ended(0)
    first = run.first()
    assert (first.cause, first.strength) == ("resume-lost-state", Strength.ESTABLISHED)
    assert title_of(first) == (
        "nothing was restored: load_state_dict took none of the 6 entries that it was given (train.py:40)"
    )
    assert facts(first)["state.not-taken"]["given_name"] == given
    assert code in code_of(first.remedies[0])


def test_a_second_load_that_takes_the_state_is_what_counts(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.probe(ev.StateDictLoaded(taken=0, given=6), ev.StateDictLoaded(taken=6, given=6))
    run.samples(3, rss_bytes=1 << 20, phase="step", step=100)
    run.ended(0)
    assert "resume-lost-state" not in run.slugs()
