"""A dataset without elements: in fit, in a loop, in validation."""

from __future__ import annotations

from pathlib import Path

from holdfast.explain import Strength
from holdfast.journal import events as ev
from tests.explain.made import Run, facts, remedies

_RAN_OUT = ev.WarningSeen(category="UserWarning", text="Your input ran out of data; interrupting training.")


def example(run: Run) -> None:
    data = ev.DatasetSeen(type="tf.data", cardinality=-2, file_count=0, where="train.py:20")
    run.fit(steps=None, data=data)
    run.probe(_RAN_OUT)
    run.probe(ev.FitDone(steps=0, epochs=3, epochs_done=3, steps_by_epoch=[0, 0, 0]))
    run.ended(0)


def near_miss(run: Run) -> None:
    """A healthy dataset of unknown size: the same warning."""
    run.fit(steps=None, data=ev.DatasetSeen(type="tf.data", cardinality=-2, where="train.py:20"))
    run.probe(_RAN_OUT)
    run.epochs([25, 25, 25])
    run.ended(0)


def test_a_fit_without_a_step(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    first = run.first()
    assert (first.title.values, first.strength) == ({"where": "train.py:20"}, Strength.ESTABLISHED)
    assert facts(first)["fit.without-steps"] == {"fit": 1, "epochs": 3}
    assert {"data.no-file-matched", "keras.warned"} <= set(facts(first))
    assert "data.no-elements" not in facts(first)  # its cardinality is not known


def test_a_loop_that_got_no_data(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.probe(ev.DatasetSeen(type="tf.data", where="train.py:15"))
    run.probe(ev.EmptyPassSeen(passes=4, where="train.py:15"))
    run.ended(0)
    first = run.first()
    assert run.verdict().outcome == "stopped-early"
    assert (first.cause, first.strength) == ("dataset-empty", Strength.SUPPORTED)
    assert facts(first) == {"loop.got-no-data": {"where": "train.py:15", "passes": 4}}


def test_an_empty_validation_is_why_a_metric_is_missing(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    callback = {"class": "EarlyStopping", "settings": {"monitor": "val_loss", "patience": 1}}
    run.fit(validation=True, callbacks=[callback])
    run.probe(ev.DatasetSeen(role="validation", type="tf.data", cardinality=0, where="train.py:30"))
    run.probe(*(ev.ValidationDone(fit=1, epoch=epoch, batches=0) for epoch in range(3)))
    run.epochs([100, 100, 100])
    run.ended(0)
    first = run.first()
    assert run.slugs() == ["dataset-empty", "monitor-missing"]
    assert (first.title.kind, first.title.values) == ("dataset-empty.validation", {"where": "train.py:30"})
    assert facts(first)["validations.without-batches"] == {"count": 3}
    assert facts(first)["data.no-elements"] == {"role": "validation"}
    assert remedies(first)[0] == "data.check-the-split"
    assert first.led_to == "monitor-missing"


def test_a_trainer_that_is_interrupted_before_its_first_step_had_data(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.fit(epochs=1, steps=400)
    run.supervisor(ev.SignalReceived(signal="SIGINT"))
    run.probe(ev.StopRequested(by="SIGINT", step=0), ev.EpochDone(steps=0, planned_steps=400))
    run.probe(ev.FitDone(steps=0, epochs=1, epochs_done=0, stopped=True, steps_by_epoch=[0]))
    run.ended(130, stopped_by_us="interrupt")
    assert run.slugs() == ["terminal-signal"]


def test_keras_2_raises_where_there_was_no_step(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.fit(steps=None, data=ev.DatasetSeen(type="tf.data", cardinality=-2, where="train.py:12"))
    run.probe(ev.FitDone(steps=0, epochs=1, epochs_done=0, raised="ValueError", steps_by_epoch=[0]))
    run.raised("ValueError", "Expect x to be a non-empty array or dataset.")
    first = run.first()
    assert (first.cause, first.strength) == ("dataset-empty", Strength.ESTABLISHED)
    assert facts(first)["fit.without-steps"] == {"fit": 1, "epochs": 1}
