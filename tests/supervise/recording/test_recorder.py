"""Samples are thinned, and a failing disk never stops the monitor."""

from __future__ import annotations

from pathlib import Path

from holdfast.journal import reader, vitals
from holdfast.journal.events import (
    Note,
    WatchFailed,
)  # fmt: skip
from holdfast.journal.folder import RunFolder
from holdfast.journal.vitals import Sample
from holdfast.supervise.recording.recorder import Recorder


def test_samples_are_thinned_as_the_run_grows_old(tmp_path: Path) -> None:
    recorder = Recorder(RunFolder(tmp_path))
    for second in [*range(10), *range(4000, 4020), *range(50000, 50060)]:
        recorder.sample(Sample(mono=float(second), phase="step"))
    written = [sample.mono for _, sample in vitals.read(tmp_path / "vitals.jsonl")]
    assert written[:10] == [float(second) for second in range(10)]
    assert [mono for mono in written if 4000 <= mono < 5000] == [4000, 4005, 4010, 4015]
    assert [mono for mono in written if mono >= 50000] == [50000, 50014, 50028, 50042, 50056]


def test_a_change_of_phase_is_written(tmp_path: Path) -> None:
    recorder = Recorder(RunFolder(tmp_path))
    for second, phase in [(0, "step"), (0.5, "save"), (0.6, "step"), (90000, "step"), (90001, "save")]:
        recorder.sample(Sample(mono=float(second), phase=phase))
    assert [sample.phase for _, sample in vitals.read(tmp_path / "vitals.jsonl")] == [
        "step",
        "save",
        "step",
        "step",
        "save",
    ]


def test_a_loop_that_changes_its_phase_all_the_time_is_thinned_like_any_other(tmp_path: Path) -> None:
    """Within the time between two samples one more is written for a change of phase, not one for each."""
    recorder = Recorder(RunFolder(tmp_path))
    recorder.sample(Sample(mono=0.0, phase="step"))
    for second in range(50_000, 50_300):
        recorder.sample(Sample(mono=float(second), phase=("data-wait", "step", "between")[second % 3]))
    written = [sample.mono for _, sample in vitals.read(tmp_path / "vitals.jsonl")][1:]
    assert written[:5] == [50_000, 50_001, 50_015, 50_016, 50_030]
    assert len(written) <= 300 / 15 * 2


def test_a_failing_disk_is_reported_once(tmp_path: Path) -> None:
    printed: list[str] = []
    recorder = Recorder(RunFolder(tmp_path / "missing"), print_line=printed.append)
    for _ in range(3):
        recorder.append(Note(text="x"))
        recorder.sample(Sample(mono=1.0), always=True)
    assert len(printed) == 2
    assert printed[0].startswith("holdfast: monitoring failed (journal: FileNotFoundError")


def test_a_part_that_fails_is_in_the_journal_once(tmp_path: Path) -> None:
    recorder = Recorder(RunFolder(tmp_path), print_line=lambda text: None)
    recorder.report_failure("output.log", "No space left on device")
    recorder.report_failure("output.log", "No space left on device")
    assert [entry.event for entry in reader.read(tmp_path / "journal.jsonl")] == [
        WatchFailed(part="output.log", error="No space left on device")
    ]
