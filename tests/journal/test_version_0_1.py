"""Runs that Holdfast 0.1 recorded: its notes read as events, and the verdict is what it was.

The folders are real ones, shortened, with neutral paths. `verdict.json` is what `explain --json` of 0.1 said of them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from holdfast.cli.main import main
from holdfast.journal import events as ev
from holdfast.journal import reader
from holdfast.journal.version_0_1 import event_of

RUNS = sorted(path.parent for path in (Path(__file__).parent / "version_0_1").glob("*/journal.jsonl"))


@pytest.mark.parametrize("folder", RUNS, ids=lambda folder: folder.name)
def test_a_recorded_run_keeps_its_verdict(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recorded = json.loads((folder / "verdict.json").read_text())
    main(["explain", str(folder), "--json"])
    verdict = json.loads(capsys.readouterr().out)
    first = verdict["findings"][0] if verdict["findings"] else {}
    assert verdict["outcome"] == recorded["outcome"]
    assert (first.get("cause"), first.get("strength")) == (recorded["cause"], recorded["strength"])
    assert verdict.get("weights_sha256") == recorded["weights_sha256"]


@pytest.mark.parametrize("folder", RUNS, ids=lambda folder: folder.name)
def test_every_line_of_a_recorded_journal_is_read(folder: Path) -> None:
    lines = [json.loads(line) for line in (folder / "journal.jsonl").read_text().splitlines()]
    entries = reader.read(folder / "journal.jsonl")
    assert [entry.line for entry in entries] == list(range(1, len(lines) + 1))
    noted = [entry.event for entry, line in zip(entries, lines, strict=True) if line["event"].get("facts")]
    notes = [event for event in noted if isinstance(event, ev.Note)]
    assert all("processes there" in note.text for note in notes), "what a note has keys for becomes an event"


@pytest.mark.parametrize(
    ("facts", "event"),
    [
        ({"exit_called": {"by": "sys.exit", "code": 3, "message": "", "where": "a.py:1", "phase": "step"}},
         ev.ExitCalled(by="sys.exit", code=3, where="a.py:1", phase="step")),
        ({"worker_exit": {"pid": 7, "code": 3, "where": "a.py:1"}},
         ev.WorkerExitCalled(worker_pid=7, code=3, where="a.py:1")),
        ({"pieces": {"usual": [4, 4, 3], "odd": [4, 4], "number": 2, "of": 8}},
         ev.ArrayShapesDiffered(usual=[4, 4, 3], odd=[4, 4], index=2, total=8)),
        ({"dropped": 3, "files": ["a.jpg"]}, ev.DataDropped(count=3, unit="images", lost_by_file={"a.jpg": 0})),
        ({"footprint": {"weights_bytes": 1, "card_peak_bytes": 5, "card_limit_bytes": 9, "host_peak_bytes": 7}},
         ev.FootprintMeasured(weights_bytes=1, gpu_peak_bytes=5, gpu_limit_bytes=9, host_peak_bytes=7)),
        ({"micro_batch": 8}, ev.MicroBatchSet(micro_batch=8)),
        ({"micro_batch": 4, "was": 8}, ev.MicroBatchSet(micro_batch=4, was=8, reason="killed-for-memory")),
        ({"micro_batch": 4, "was": 8, "out_of_memory_at": 3, "error": "OOM"},
         ev.MicroBatchSet(micro_batch=4, was=8, reason="out-of-memory", step=3, error="OOM")),
        ({"copied": "gs://a/step-2", "duration_s": 1.5}, ev.CheckpointCopied(url="gs://a/step-2", duration_s=1.5)),
        ({"copy_failed": "gs://a/step-2"}, ev.CopyFailed(url="gs://a/step-2", error="as written")),
        ({"fetch_failed": "gs://a"}, ev.FetchFailed(url="gs://a")),
        ({"unsaved": 7}, ev.SaveAbandoned(step=7, text="as written")),
        ({"bad_picture": "a.jpg", "why": "cut", "step": 3}, ev.BadImageSkipped(image="a.jpg", why="cut", step=3)),
        ({"packed_from_epoch": 1, "packed": 9}, ev.ImagesPacked(images=9, from_epoch=1)),
        ({"newest_by_rank": [7, -1]}, ev.CheckpointAgreed(newest_by_rank=[7, -1])),
        ({"not_known": ["what it printed"]}, ev.WatchLimited(unknown=["what it printed"])),
        ({"output_bytes": 300}, ev.SupervisorLost(output_bytes=300)),
        ({"by": "conductor", "remark": "apart", "ranks": [1], "rank_steps": {"0": 50, "1": 40}},
         ev.GroupRemark(remark="apart", ranks=[1], rank_steps={"0": 50, "1": 40}, text="as written")),
        ({"by": "conductor", "peer_missing": [1, 2]}, ev.AgentsMissing(ranks=[1, 2])),
        ({"validation_out_of_memory": True}, ev.Note(text="as written")),
        ({}, ev.Note(text="as written")),
    ],
)  # fmt: skip
def test_a_note_becomes_the_event_that_is_written_today(facts: dict[str, Any], event: ev.Event) -> None:
    assert event_of({"text": "as written", "facts": facts}) == event


def test_the_coordinators_wish_to_end_is_known_by_its_signal() -> None:
    asked = event_of({"text": "SIGINT came: all save at the same step and end", "facts": {"by": "conductor"}})
    assert isinstance(asked, ev.GroupStopRequested)
    assert asked.signal == "SIGINT"


def test_a_note_that_is_not_what_it_should_be_is_passed_over(tmp_path: Path) -> None:
    line = {"kind": "note_made", "at": 1, "mono": 1, "by": "probe", "pid": 1, "attempt": 1}
    broken = [{"text": "", "facts": {"exit_called": 3}}, {"facts": None}, {"text": "x", "facts": [1]}]
    text = "".join(json.dumps({**line, "event": event}) + "\n" for event in broken)
    (tmp_path / "j").write_text(text)
    assert [entry.event for entry in reader.read(tmp_path / "j")] == [ev.Note(), ev.Note(text="x")]
