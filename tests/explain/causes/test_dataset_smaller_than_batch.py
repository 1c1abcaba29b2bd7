"""Fewer records than a batch, with drop_remainder."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.journal import events as ev
from tests.explain.made import Run, facts, pipeline, title_of


def _empty(run: Run, *nodes: dict[str, object]) -> None:
    run.fit(steps=0, data=pipeline(*nodes, cardinality=0))
    run.probe(ev.FitDone(steps=0, epochs=3, epochs_done=3, steps_by_epoch=[0, 0, 0]))
    run.ended(0)


def example(run: Run) -> None:
    batch = {"op": "batch", "batch_size": 8, "drop_remainder": True, "where": "train.py:9"}
    _empty(run, {"op": "range", "cardinality": 3}, batch)


def near_miss(run: Run) -> None:
    batch = {"op": "batch", "batch_size": 8, "drop_remainder": True}
    run.fit(data=pipeline({"op": "range", "cardinality": 800}, batch))
    run.epochs([100, 100, 100])
    run.ended(0)


def test_the_records_and_the_batch_are_named(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    first = run.first()
    assert first.title.values == {"records": 3, "batch": 8}
    assert facts(first)["pipeline.drops-remainder"]["where"] == "train.py:9"
    assert all(remedy.values == first.title.values for remedy in first.remedies)


@pytest.mark.parametrize(("records", "drops"), [(0, True), (3, False), (8, True)])
def test_other_reasons_for_an_empty_dataset(tmp_path: Path, records: int, drops: bool) -> None:
    run = Run(tmp_path / "run")
    batch = {"op": "batch", "batch_size": 8, "drop_remainder": drops}
    _empty(run, {"op": "range", "cardinality": records}, batch)
    assert run.slugs() == ["dataset-empty"]


def test_of_two_datasets_that_a_loop_goes_through(tmp_path: Path) -> None:
    """The second one is for the validation, which no loop declares."""
    run = Run(tmp_path / "run")
    source = {"op": "tensor_slice", "elements": 78}
    shuffled = {"op": "shuffle", "buffer_size": 78}
    for drops, cardinality in ((True, 0), (False, 1)):
        batch = {"op": "batch", "batch_size": 128, "drop_remainder": drops}
        run.probe(pipeline(source, shuffled, batch, cardinality=cardinality))
    run.probe(ev.EmptyPassSeen(passes=8, where="train.py:69"))
    run.ended(0)
    assert run.first().cause == "dataset-smaller-than-batch"
    assert run.first().title.values == {"records": 78, "batch": 128}


def test_workers_that_have_less_than_a_batch_each(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.probe(ev.DatasetSeen(type="torch", workers=4, where="train.py:79"))
    for epoch in range(2):
        for worker in range(4):
            run.probe(ev.IncompleteBatchDropped(rows=60 + worker, batch=64, worker=worker, workers=4))
        run.probe(ev.EmptyPassSeen(passes=epoch + 1, where="train.py:79"))
    run.ended(0)
    first = run.first()
    assert (first.cause, first.strength.word) == ("dataset-smaller-than-batch", "established")
    assert title_of(first) == (
        "each of the 4 loader processes makes batches of its own, and none has 64 records for one: incomplete batches "
        "are dropped"
    )
    assert sorted(facts(first)["loader.dropped-rows"]["rows"]) == [60, 61, 62, 63]
    assert "dataset-empty" not in run.slugs()


def test_one_worker_that_has_less_than_a_batch(tmp_path: Path) -> None:
    """The others had enough: steps were done."""
    run = Run(tmp_path / "run")
    run.probe(ev.IncompleteBatchDropped(rows=60, batch=64, worker=3, workers=4))
    run.samples(2, phase="step", step=12, rss_bytes=1 << 28)
    run.ended(0)
    assert "dataset-smaller-than-batch" not in run.slugs()


@pytest.mark.parametrize(
    ("kind", "message", "found"),
    [
        ("ValueError", "The PyDataset has length 0", True),
        ("ZeroDivisionError", "float division by zero", True),
        ("FileNotFoundError", "[Errno 2] No such file or directory: 'labels.csv'", False),
    ],
)
def test_an_error_that_follows_from_it(tmp_path: Path, kind: str, message: str, found: bool) -> None:
    run = Run(tmp_path / "run")
    source = {"op": "source", "cardinality": 90}
    batch = {"op": "batch", "batch_size": 128, "drop_remainder": True}
    run.probe(pipeline(source, batch, cardinality=0))
    run.raised(kind, message)
    assert (run.first().cause == "dataset-smaller-than-batch") is found


_DROPS = {"op": "batch", "batch_size": 64, "drop_remainder": True, "where": "train.py:9"}
_METRIC = "Early stopping conditioned on metric `val_loss` which is not available."


def _loader(run: Run, rows: int | None, batch: int | None) -> None:
    run.probe(ev.LoaderEmpty(rows=rows, batch=batch, where="train.py:41"))
    run.samples(2, phase="step", step=30, rss_bytes=1 << 28)


def test_a_validation_without_a_batch_is_why_its_metric_is_missing(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    _loader(run, 132, 192)
    run.raised("RuntimeError", _METRIC)
    assert run.slugs() == ["dataset-smaller-than-batch", "monitor-missing"]
    first = run.first()
    assert (first.strength.word, first.led_to) == ("established", "monitor-missing")
    assert first.title.values == {"records": 132, "batch": 192, "where": "train.py:41"}
    assert [one.kind for one in first.remedies] == ["loader.keep-last", "batch.shrink-to-dataset"]


@pytest.mark.parametrize(
    ("rows", "batch", "message", "first"),
    [
        (0, None, _METRIC, "dataset-empty"),
        (None, None, _METRIC, "dataset-empty"),
        (132, 192, "mat1 and mat2 shapes cannot be multiplied", "script-error"),
    ],
)
def test_other_loaders_without_a_batch(
    tmp_path: Path, rows: int | None, batch: int | None, message: str, first: str
) -> None:
    run = Run(tmp_path / "run")
    _loader(run, rows, batch)
    run.raised("RuntimeError", message)
    assert run.first().cause == first


def test_a_loader_that_was_asked_and_left_out(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    _loader(run, 132, 192)
    run.ended(0)
    assert run.blamed() == []


@pytest.mark.parametrize(
    ("records", "passes", "blamed"),
    [
        (40, [1, 2, 4], ["dataset-smaller-than-batch"]),
        (40, [1], []),
        (40, [1, 2, 0], []),  # a later pass gave something
        (640, [1, 2, 4], []),
    ],
)
def test_a_loop_of_ones_own_that_validates_nothing(
    tmp_path: Path, records: int, passes: list[int], blamed: list[str]
) -> None:
    run = Run(tmp_path / "run")
    run.probe(ev.LoopSeen(by="tf_function", where="train.py:20"))
    data = pipeline({"op": "range", "cardinality": records}, _DROPS, cardinality=records // 64)
    run.probe(data.changed(role="validation", where="train.py:24"))
    for step, count in enumerate(passes):
        run.probe(ev.LaterPassEmpty(passes=count, step=10 * step + 10, where="train.py:24"))
    run.samples(2, phase="step", step=80, rss_bytes=1 << 28)
    run.ended(0)
    assert run.blamed() == blamed


def test_a_mean_over_no_batches(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    data = pipeline({"op": "source", "cardinality": 50}, _DROPS, cardinality=0)
    run.probe(data.changed(role="validation", type="torch", where="train.py:24"))
    run.probe(ev.LaterPassEmpty(passes=1, step=17, where="train.py:24"))
    run.samples(2, phase="step", step=17, rss_bytes=1 << 28)
    run.raised("ZeroDivisionError", "division by zero")
    assert run.slugs() == ["dataset-smaller-than-batch"]


def test_a_validation_of_fit(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    callback = {"class": "EarlyStopping", "settings": {"monitor": "val_loss", "patience": 1}}
    run.fit(validation=True, callbacks=[callback])
    data = pipeline({"op": "range", "cardinality": 40}, _DROPS, cardinality=0)
    run.probe(data.changed(role="validation", where="train.py:24"))
    run.probe(*(ev.ValidationDone(fit=1, epoch=epoch, batches=0) for epoch in range(3)))
    run.epochs([100, 100, 100])
    run.ended(0)
    assert run.slugs() == ["dataset-smaller-than-batch", "monitor-missing"]
