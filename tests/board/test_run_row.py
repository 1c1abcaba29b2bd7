"""One run as a row: state, position, what is worth a look."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from holdfast.board import run_row
from holdfast.journal import events, vitals
from holdfast.journal.folder import RunFolder
from holdfast.journal.writer import JournalWriter
from tests.report.made import run_folder

LAST = 1.7e9 + 1299.0  # the wall clock at the last sample of a made run


def test_a_run_that_is_being_written(tmp_path: Path) -> None:
    row = run_row.read_row(run_folder(tmp_path / "a", end="none"), LAST + 1)
    assert (row["state"], row["live"], row["step"], row["of"], row["left_s"]) == (
        "running",
        True,
        299,
        300,
        1,
    )
    assert (row["script"], row["host"]) == ("train.py", "a-host.example")
    assert row["memory_limit"] == 4 * 2**30
    assert row["losses"][0] > 4 > 1 > row["losses"][-1] == row["loss"]


@pytest.mark.parametrize(
    ("end", "now", "state", "live"),
    [
        ("stall", LAST + 1, "stalled", True),
        ("stall", LAST + 99, "not watched", False),
        ("finished", LAST + 9999, "finished", False),
        ("none", LAST + 9999, "not watched", False),
    ],
)
def test_states(tmp_path: Path, end: str, now: float, state: str, live: bool) -> None:
    row = run_row.read_row(run_folder(tmp_path / "a", end=end), now)
    assert (row["state"], row.get("live", False)) == (state, live)


def test_a_run_whose_record_stops_says_so(tmp_path: Path) -> None:
    row = run_row.read_row(run_folder(tmp_path / "a", end="none"), LAST + 9999)
    assert row["why"] == "the record stops without an end: the supervisor or the machine is gone"
    left = run_folder(tmp_path / "b", end="none")
    with left.journal.open("a") as file:
        file.write(json.dumps({"kind": "run_closed", "at": LAST, "event": {"outcome": "left"}}) + "\n")
    assert "why" not in run_row.read_row(left, LAST + 9999)


def test_the_verdict_speaks_for_a_run_that_ended(tmp_path: Path) -> None:
    folder = run_folder(tmp_path / "a", end="none")
    finding = {
        "title": "killed for memory",
        "cause": "killed-for-memory",
        "strength": "established",
        "remedies": [{"do": "less"}],
    }
    folder.verdict.write_text(json.dumps({"outcome": "killed", "findings": [finding]}))
    row = run_row.read_row(folder, LAST)
    assert (row["state"], row["why"], row["do"], row["blames"]) == (
        "killed",
        "killed for memory",
        "less",
        True,
    )
    folder.verdict.write_text("{torn")
    assert run_row.read_row(folder, LAST)["state"] == "running"


def test_a_verdict_from_before_a_resume_does_not_speak(tmp_path: Path) -> None:
    folder = run_folder(tmp_path / "a", end="none")
    folder.verdict.write_text(json.dumps({"outcome": "killed", "findings": []}))
    os.utime(folder.verdict, (LAST - 100, LAST - 100))
    assert run_row.read_row(folder, LAST + 1)["state"] == "running"


def test_what_is_worth_a_look_before_there_is_a_verdict(tmp_path: Path) -> None:
    nan = run_row.read_row(run_folder(tmp_path / "nan", end="nan"), LAST)
    assert (nan["why"], nan["blames"]) == ("loss became nan at step 300", True)
    full = run_folder(tmp_path / "full", end="none")
    with full.vitals.open("ab") as file:
        file.write(vitals.encode(vitals.Sample(at=LAST, step=300, tree_rss_bytes=97, memory_limit_bytes=100)))
    assert run_row.read_row(full, LAST)["why"] == "memory at 97 % of its limit of 100 bytes"
    disk = run_folder(tmp_path / "disk", end="none")
    with disk.vitals.open("ab") as file:
        file.write(
            vitals.encode(vitals.Sample(at=LAST, step=300, disks_free_bytes={"run": 2**20, "tmp": 2**40}))
        )
    assert run_row.read_row(disk, LAST)["why"] == "1.0 MiB of disk space left"


def test_an_output_log_alone_and_a_run_that_only_its_output_speaks_of(tmp_path: Path) -> None:
    (tmp_path / "bare").mkdir()
    (tmp_path / "bare" / "output.log").write_text("Killed\n")
    assert run_row.read_row(RunFolder(tmp_path / "bare"), LAST)["state"] == "not watched"
    folder = RunFolder(tmp_path / "node")
    folder.path.mkdir()
    printed = {"step": 120, "of": 500, "epoch": 2, "loss": 0.25}
    folder.vitals.write_bytes(vitals.encode(vitals.Sample(at=100.0, printed=printed)))
    row = run_row.read_row(folder, 101.0)
    assert (row["step"], row["of"], row["as_printed"], row["loss"]) == (120, 500, True, 0.25)
    journal = JournalWriter(folder.journal, by="supervisor", wall=lambda: 100.5)
    journal.append(events.ProgressPrinted(epoch=5.0, of_epochs=5))
    row = run_row.read_row(folder, 101.0)
    assert (row["step"], row["of"]) == (5, 5), "printed after the last sample"


def test_a_run_that_was_restarted_after_it_was_closed(tmp_path: Path) -> None:
    folder = run_folder(tmp_path / "a", end="finished")
    journal = JournalWriter(folder.journal, by="supervisor", attempt=2)
    journal.append(events.AttemptStarted(pid=4))
    with folder.vitals.open("ab") as file:
        file.write(vitals.encode(vitals.Sample(at=LAST + 50, attempt=2, step=5)))
    row = run_row.read_row(folder, LAST + 51)
    assert (row["state"], row["attempt"]) == ("running", 2)
