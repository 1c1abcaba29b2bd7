"""All runs at a glance: their states, their pace, and how they read in a terminal."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from holdfast.cli.main import main
from holdfast.journal import events, vitals
from holdfast.journal.folder import RunFolder
from holdfast.journal.writer import JournalWriter
from holdfast.report import overview, table
from tests.report.made import run_folder

LAST = 1.7e9 + 1299.0  # the wall clock at the last sample of a made run


def test_a_run_that_is_being_written(tmp_path: Path) -> None:
    line = overview.line(run_folder(tmp_path / "a", end="none"), now=LAST + 1)
    assert (line.state, line.step, line.of) == ("running", 299, 300)
    assert line.seconds_left == pytest.approx(1.0)
    assert line.memory_limit_bytes == 4 * 2**30
    assert len(line.losses) == 41
    assert line.losses[0] > 4 > 1 > line.losses[20] > line.losses[39], "from the first to the last"
    assert math.isclose(line.losses[-1], 5 / (1 + 299 / 20) + 0.1 * math.sin(299))


@pytest.mark.parametrize(
    ("end", "now", "state"),
    [
        ("stall", LAST + 1, "stalled"),
        ("finished", LAST + 9999, "finished"),
        ("none", LAST + 9999, "not watched"),
    ],
)
def test_states(tmp_path: Path, end: str, now: float, state: str) -> None:
    assert overview.line(run_folder(tmp_path / "a", end=end), now=now).state == state


def test_the_verdict_speaks_for_a_run_that_ended(tmp_path: Path) -> None:
    folder = run_folder(tmp_path / "a", end="none")
    folder.verdict.write_text(json.dumps({"outcome": "killed", "findings": [{"title": "killed for memory"}]}))
    line = overview.line(folder, now=LAST)
    assert (line.state, line.verdict, line.seconds_left) == ("killed", "killed for memory", None)
    folder.verdict.write_text("{torn")
    assert overview.line(folder, now=LAST).state == "running"


def test_runs_are_found_below_a_folder_newest_first_and_links_are_not_followed(tmp_path: Path) -> None:
    import os

    for name in ("old", "group/new"):
        run_folder(tmp_path / "runs" / name, steps=9)
    os.utime(tmp_path / "runs/old/journal.jsonl", (1, 1))
    run_folder(tmp_path / "elsewhere", steps=9)
    (tmp_path / "runs/link").symlink_to(tmp_path / "elsewhere")
    assert [run.name for run in overview.find(tmp_path / "runs")] == ["new", "old"]
    assert [run.name for run in overview.find(tmp_path / "elsewhere")] == ["elsewhere"]


def test_how_it_reads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_folder(tmp_path / "runs" / "a-run", end="finished")
    assert main(["top", str(tmp_path / "runs")]) == 0
    head, row, *_ = (
        capsys.readouterr().out.splitlines()
    )  # below them, trainings that run here without Holdfast
    assert head.split() == ["run", "state", "step", "left", "memory", "loss"]
    assert row.startswith("a-run  finished ")
    assert "299/300" in row
    assert len(row) <= 80
    assert main(["top", str(tmp_path / "runs"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["state"] == "finished"
    assert main(["top", str(tmp_path / "none")]) == 2
    assert "holdfast run -- python train.py" in capsys.readouterr().err


@pytest.mark.parametrize("width", [66, 80, 100, 120, 200])
def test_no_line_is_wider_than_the_terminal(tmp_path: Path, width: int) -> None:
    folder = run_folder(tmp_path / ("a-long-name" * 9), steps=30)
    folder.verdict.write_text(json.dumps({"outcome": "killed", "findings": [{"title": "killed " * 40}]}))
    lines = [overview.line(folder, now=LAST), overview.line(run_folder(tmp_path / "b", end="none"), now=LAST)]
    rows = table.render(lines, width=width).splitlines()
    assert max(map(len, rows)) <= width
    assert len(rows) == 4
    assert ("▁" in rows[1]) == (width >= 100)


def test_what_a_finished_run_was_found_to_have_done_is_shown_too(tmp_path: Path) -> None:
    folder = run_folder(tmp_path / "a", end="none")
    folder.verdict.write_text(
        json.dumps({"outcome": "finished", "findings": [{"title": "the labels are constant"}]})
    )
    assert table.render([overview.line(folder, now=LAST)]).splitlines()[2] == "  the labels are constant"


def test_the_memory_of_a_run_that_has_ended_is_not_what_was_left_at_its_end(tmp_path: Path) -> None:
    folder = run_folder(tmp_path / "a", end="none")
    sizes = [900, 200]
    samples = [vitals.Sample(at=LAST + at, mono=at, rss_bytes=size) for at, size in enumerate(sizes)]
    folder.vitals.write_bytes(b"".join(map(vitals.encode, samples)))
    assert overview.line(folder, now=LAST).memory_bytes == 200
    folder.verdict.write_text(json.dumps({"outcome": "finished", "findings": []}))
    assert overview.line(folder, now=LAST).memory_bytes == 900


def test_small_words() -> None:
    assert table.sparkline([0.0, 1.0, math.nan, 0.5], 10) == "▁█▄ 0.5"
    assert table.sparkline([0.0, 1.0, 0.5], 5) == "0.5"
    assert table.sparkline([float(at) for at in range(100)], 8) == "▁▁▂▃▄▅▆█ 99"
    assert table.sparkline([math.nan], 10) == ""


def test_a_run_that_only_its_output_speaks_of(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "node")
    folder.path.mkdir()
    printed = {"step": 120, "of": 500, "epoch": 2, "loss": 0.25}
    samples = [vitals.Sample(at=100.0 + second, mono=second, printed=printed) for second in range(3)]
    folder.vitals.write_bytes(b"".join(map(vitals.encode, samples)))
    found = overview.line(folder, now=103.0)
    assert (found.step, found.of, found.as_printed, found.losses[-1]) == (120, 500, True, 0.25)
    assert "120/500*" in table.render([found])
    assert "as the command prints it" in table.render([found])
    journal = JournalWriter(folder.journal, by="supervisor", wall=lambda: 102.5)
    journal.append(events.ProgressPrinted(epoch=5.0, of_epochs=5))
    assert (overview.line(folder, now=103.0).step, overview.line(folder, now=103.0).of) == (5, 5)
    folder.journal.unlink()
    only_epochs = {"epoch": 2.0, "of_epochs": 10}
    folder.vitals.write_bytes(vitals.encode(vitals.Sample(at=100.0, printed=only_epochs)))
    assert (overview.line(folder, now=103.0).step, overview.line(folder, now=103.0).of) == (2, 10)
