"""The curves of a run, from its journal and its samples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from holdfast.board.run_curves import CurveCache, RunCurves, have_of
from holdfast.journal import events, vitals
from holdfast.journal.folder import RunFolder
from holdfast.journal.writer import JournalWriter


def by_name(sent: dict[str, Any]) -> dict[str, Any]:
    return {one["name"]: one for one in sent["series"]}


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    folder = RunFolder(tmp_path / "run")
    folder.path.mkdir()
    return folder


def journal_of(folder: RunFolder, now: list[float]) -> JournalWriter:
    return JournalWriter(folder.journal, by="probe", wall=lambda: now[0], monotonic=lambda: now[0])


def test_losses_metrics_and_marks(folder: RunFolder) -> None:
    now = [100.0]
    journal = journal_of(folder, now)
    journal.append(events.RunOpened(name="t"))
    now[0] = 101.0
    journal.append(events.LossSeen(step=10, logs={"loss": 2.0, "box": 0.5}, step_loss=1.5, learning_rate=0.1))
    journal.append(events.ValidationDone(logs={"loss": 1.8, "AP": 0.25, "APs": -1}))
    journal.append(events.EpochDone(logs={"loss": 9.0, "accuracy": 0.7, "val_loss": 9.0}))
    journal.append(events.NonFiniteSeen(what="loss", name="loss", value="nan", step=11))
    now[0] = 102.0
    journal.append(events.EpochDone(logs={"loss": 9.0, "accuracy": 0.8}))
    sent = RunCurves(folder).since([])
    series = by_name(sent)
    assert sent["began"] == 100.0
    assert series["loss"]["value"] == [1.5], "the loss of the step, and no mean of an epoch"
    assert (series["box"]["step"], series["learning rate"]["value"]) == ([10], [0.1])
    assert (series["val_loss"]["value"], series["AP"]["value"]) == ([1.8], [0.25])
    assert series["accuracy"]["value"] == [0.7, 0.8], "what comes with epochs alone is drawn by epochs"
    assert "APs" not in series
    assert [(mark["kind"], mark["label"]) for mark in sent["marks"]] == [
        ("nan", "loss became nan at step 11")
    ]


def test_the_machine(folder: RunFolder) -> None:
    samples = [
        vitals.Sample(at=200.0 + second, mono=float(second), step=4 * second, cpu_s=2.5 * second,
                      tree_rss_bytes=100, memory_limit_bytes=900, disks_free_bytes={"run": 5, "tmp": 3},
                      disk_read_bytes=10 * second, loss=1.0,
                      gpus=[{"used_bytes": 7, "utilisation": 80}, {"used_bytes": 8, "utilisation": 10}])
        for second in range(3)
    ]  # fmt: skip
    folder.vitals.write_bytes(b"".join(map(vitals.encode, samples)))
    series = by_name(RunCurves(folder).since([]))
    assert series["CPU"]["value"] == [2.5, 2.5] and series["CPU"]["unit"] == "cores"
    assert series["disk read"]["value"] == [10.0, 10.0]
    assert series["disk free"]["value"] == [3.0, 3.0, 3.0]
    assert series["GPU use 1"]["value"] == [10.0, 10.0, 10.0]
    assert series["steps"]["value"] == [4.0, 4.0]
    assert series["RAM limit"]["last"] == [202.0, 8, 900.0]


def test_only_what_was_added_is_read_and_sent(folder: RunFolder) -> None:
    now = [1.0]
    journal = journal_of(folder, now)
    journal.append(events.LossSeen(step=1, logs={"loss": 3.0}))
    curves = RunCurves(folder)
    first = curves.since([])
    have = [(one["thinned"], len(one["at"])) for one in first["series"]]
    assert curves.since(have)["series"][0]["at"] == []
    now[0] = 2.0
    journal.append(events.LossSeen(step=2, logs={"loss": 2.0}))
    added = curves.since(have)["series"][0]
    assert (added["from"], added["value"], added["step"]) == (1, [2.0], [2])


def test_hostile_lines_add_nothing(folder: RunFolder) -> None:
    names = ", ".join(f'"m{n}": 1.0' for n in range(500))
    folder.journal.write_text(
        '{"kind": "loss_seen", "at": 1.0, "event": {"step": 1, "logs": {"loss": "low", "a": 1e999, "b": [1], "c": NaN,'
        ' "d": true}}}\n'
        '{"kind": "loss_seen", "at": "now", "event": {"logs": {"loss": 1}}}\n'
        '{"kind": "loss_seen", "at": 2.0, "event": [3]}\n{"kind": "stalled", "at": 3.0, "event": null}\nnoise\n[[[\n'
        '{"kind": "loss_seen", "at": 4.0, "event": {"logs": {' + names + "}}}\n"
    )
    folder.vitals.write_text(
        '{"at": 5.0, "gpus": {"a": 1}, "disks_free_bytes": "x", "loss": {}, "step": -4}\n'
    )
    sent = RunCurves(folder).since([])
    assert len(sent["series"]) == 48, "no more series than these"
    assert {one["name"] for one in sent["series"]}.isdisjoint({"a", "b", "d", "loss"})


def test_what_a_page_has_as_it_says_it() -> None:
    assert have_of("3.120,0.7") == [(3, 120), (0, 7)]
    assert have_of("3.120,x.1,2.2") == [(3, 120)]
    assert have_of("") == []
    assert len(have_of("0.0," * 5000)) == 48


def test_curves_of_few_runs_are_kept(tmp_path: Path) -> None:
    cache = CurveCache()
    folders = [RunFolder(tmp_path / str(number)) for number in range(40)]
    first = cache.of(folders[0])
    assert cache.of(folders[0]) is first
    for folder in folders:
        cache.of(folder)
    assert len(cache._known) == 16
