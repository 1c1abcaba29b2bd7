"""A restored run that has nothing left to do."""

from __future__ import annotations

from pathlib import Path

from holdfast.explain import Strength, Verdict
from holdfast.journal import events as ev
from tests.explain.made import Run, facts, remedies


def example(run: Run) -> None:
    run.probe(ev.Restored(path="backup", by="BackupAndRestore", epoch=5))
    run.probe(ev.FitStarted(epochs=5, initial_epoch=5, where="train.py:30"))
    run.probe(ev.FitDone(steps=0, epochs=0, epochs_done=0))
    run.ended(0)


def near_miss(run: Run) -> None:
    run.probe(ev.FitStarted(epochs=5, initial_epoch=3, planned_steps_per_epoch=10, iterations=30))
    run.epochs([10, 10])
    run.ended(0)


def test_the_epochs_are_values(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    first = run.first()
    assert first.title.values == {"epochs": 5, "first_epoch": 5, "where": "train.py:30"}
    assert facts(first)["checkpoint.restored"]["by"] == "BackupAndRestore"
    assert first.remedies[0].values == {"epochs": 10, "first_epoch": 5}


def _restored_without_a_step(path: Path, saved_to: str) -> Verdict:
    run = Run(path / "run")
    run.probe(ev.Restored(path="last.keras", by="load_model", iterations=50, optimizer_restored=True))
    run.probe(ev.SaveDone(path=saved_to, bytes=18_416, step=0))
    run.ended(0)
    return run.verdict()


def test_a_loop_of_its_own_that_had_nothing_left_to_do(tmp_path: Path) -> None:
    first = _restored_without_a_step(tmp_path, "last.keras").findings[0]
    assert (first.cause, first.strength) == ("already-at-target", Strength.SUPPORTED)
    assert facts(first)["checkpoint.restored"]["iterations"] == 50
    assert facts(first)["save.same-path"] == {"path": "last.keras"}


def test_a_model_that_is_loaded_and_written_elsewhere_is_a_conversion(tmp_path: Path) -> None:
    assert _restored_without_a_step(tmp_path, "model.h5").findings == ()


_AT_GOAL = ev.Restored(
    path="ckpt-4", by="tf.train.Checkpoint", iterations=300, planned_steps=300, planned_name="train_steps"
)


def test_a_loop_whose_goal_the_restored_state_has_reached(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.probe(_AT_GOAL)
    unused = "Value in checkpoint could not be found in the restored object: (root).optimizer.decay"
    run.probe(ev.WarningSeen(category="restore-incomplete", text=unused, count=1))
    weight = "Value in checkpoint could not be found in the restored object: (root).model.dense.kernel"
    run.probe(ev.WarningSeen(category="restore-incomplete", text=weight, count=1))
    run.ended(0)
    first = run.first()
    assert (first.cause, first.strength) == ("already-at-target", Strength.ESTABLISHED)
    assert facts(first)["steps.goal"] == {"steps": 300, "name": "train_steps", "done": 300}
    assert run.verdict().warned == ()


def test_an_evaluation_of_the_finished_training_draws_data_and_is_not_blamed(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.probe(_AT_GOAL)
    run.probe(ev.DatasetSeen(role="train", nodes=[]))
    run.ended(0)
    assert run.blamed() == []


_NO_ROUND = ev.LoopSkipped(where="train.py:31", counter="start", first=500, bound="total", goal=500)


def test_a_loop_that_has_no_round(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.probe(_NO_ROUND)
    run.ended(0)
    first = run.first()
    assert (first.title.kind, first.strength) == ("already-at-target.no-round", Strength.ESTABLISHED)
    assert facts(first)["loop.no-round"]["counter"] == "start"
    assert remedies(first) == ["loop.more-rounds", "checkpoint.remove-to-start-over"]


def test_a_loop_without_a_round_in_a_run_that_trained(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.probe(_NO_ROUND)
    run.samples(3, rss_bytes=1 << 20, phase="step", step=40)
    run.ended(0)
    assert run.blamed() == []


def _trial(run: Run, number: int, *, steps: int, saved: str = "", restored: str = "") -> None:
    run.probe(
        ev.FitStarted(fit=number, epochs=5, planned_steps_per_epoch=10, iterations=0, where="tune.py:9")
    )
    if restored:
        run.probe(ev.Restored(path=restored, by="BackupAndRestore", epoch=5, iterations=50))
    if saved:
        run.probe(ev.SaveDone(path=saved, bytes=100, step=steps))
    epochs = 5 if steps else 0
    done = {"epochs": epochs, "epochs_done": epochs, "steps_by_epoch": [10] * epochs, "iterations": 50}
    run.probe(ev.FitDone(fit=number, steps=steps, **done))


def test_trials_that_share_a_backup(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    _trial(run, 1, steps=50, saved="state/chief/ckpt-5")
    _trial(run, 2, steps=0, restored="state/chief/ckpt-5")
    _trial(run, 3, steps=0, restored="state/chief/ckpt-4")
    run.ended(0)
    first = run.first()
    assert (first.title.kind, first.strength) == ("already-at-target.another-fit", Strength.ESTABLISHED)
    assert first.title.values["idle"] == 2
    assert remedies(first)[0] == "checkpoint.one-for-each-fit"


def test_a_stage_that_an_earlier_process_has_finished(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    _trial(run, 1, steps=0, restored="stage-1/ckpt-5")
    _trial(run, 2, steps=50, saved="stage-2/ckpt-5")
    run.ended(0)
    assert run.blamed() == []
