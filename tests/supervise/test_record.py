"""Records that survive a bad disk, thinning, and what the process tells."""

from __future__ import annotations

from pathlib import Path

from holdfast.journal import reader, vitals
from holdfast.journal.beats import BeatWriter, Phase
from holdfast.journal.events import (
    DatasetSeen,
    EpochDone,
    Event,
    ExceptionRaised,
    FitDone,
    FitStarted,
    Note,
    PipelineSeen,
    SaveStarted,
    ValidationDone,
    WatchFailed,
)  # fmt: skip
from holdfast.journal.folder import RunFolder
from holdfast.journal.reader import Entry
from holdfast.journal.vitals import Sample
from holdfast.supervise.recording.beat_follower import HeartbeatFollower
from holdfast.supervise.recording.journal_state import JournalState
from holdfast.supervise.recording.recorder import Recorder


def test_samples_are_thinned_as_the_run_grows_old(tmp_path: Path) -> None:
    record = Recorder(RunFolder(tmp_path))
    for second in [*range(10), *range(4000, 4020), *range(50000, 50060)]:
        record.sample(Sample(mono=float(second), phase="step"))
    kept = [sample.mono for _, sample in vitals.read(tmp_path / "vitals.jsonl")]
    assert kept[:10] == [float(second) for second in range(10)]
    assert [mono for mono in kept if 4000 <= mono < 5000] == [4000, 4005, 4010, 4015]
    assert [mono for mono in kept if mono >= 50000] == [50000, 50014, 50028, 50042, 50056]


def test_a_change_of_phase_is_kept(tmp_path: Path) -> None:
    record = Recorder(RunFolder(tmp_path))
    for second, phase in [(0, "step"), (0.5, "save"), (0.6, "step"), (90000, "step"), (90001, "save")]:
        record.sample(Sample(mono=float(second), phase=phase))
    assert [sample.phase for _, sample in vitals.read(tmp_path / "vitals.jsonl")] == [
        "step",
        "save",
        "step",
        "step",
        "save",
    ]


def test_a_loop_that_changes_its_phase_all_the_time_is_thinned_like_any_other(tmp_path: Path) -> None:
    """Within the time between two samples one more is kept for a change of phase, not one for each."""
    record = Recorder(RunFolder(tmp_path))
    record.sample(Sample(mono=0.0, phase="step"))
    for second in range(50_000, 50_300):
        record.sample(Sample(mono=float(second), phase=("data-wait", "step", "between")[second % 3]))
    kept = [sample.mono for _, sample in vitals.read(tmp_path / "vitals.jsonl")][1:]
    assert kept[:5] == [50_000, 50_001, 50_015, 50_016, 50_030]
    assert len(kept) <= 300 / 15 * 2


def test_a_disk_that_takes_nothing_is_said_once(tmp_path: Path) -> None:
    said: list[str] = []
    record = Recorder(RunFolder(tmp_path / "missing"), say=said.append)
    for _ in range(3):
        record.append(Note(text="x"))
        record.sample(Sample(mono=1.0), always=True)
    assert len(said) == 2
    assert said[0].startswith("holdfast: journal is not recorded from here on: FileNotFoundError")


def test_a_part_that_fails_is_in_the_journal_once(tmp_path: Path) -> None:
    record = Recorder(RunFolder(tmp_path), say=lambda text: None)
    record.complain("output.log", "No space left on device")
    record.complain("output.log", "No space left on device")
    assert [entry.event for entry in reader.read(tmp_path / "journal.jsonl")] == [
        WatchFailed(part="output.log", error="No space left on device")
    ]


def told(*said: Event) -> JournalState:
    found = JournalState()
    found.take([Entry(1, 0.0, 0.0, "probe", 7, 1, event) for event in said])
    return found


def test_planned_steps_come_from_the_plan_or_from_an_epoch_that_was_seen() -> None:
    assert told().planned_steps is None
    assert told(FitStarted(epochs=5, initial_epoch=2, planned_steps_per_epoch=10)).planned_steps == 30
    assert told(FitStarted(epochs=5), EpochDone(steps=7)).planned_steps == 35
    two = told(
        FitStarted(epochs=1, planned_steps_per_epoch=10),
        FitDone(steps=10),
        FitStarted(epochs=2, planned_steps_per_epoch=20),
    )
    assert two.planned_steps == 50


def test_what_the_watch_needs_is_kept() -> None:
    found = told(
        FitStarted(callbacks=[{"class": "A"}, {"class": "B"}], iterations=400),
        FitStarted(callbacks=[{"class": "A"}, {"class": "B"}], iterations=500),
        DatasetSeen(role="validation", cardinality=-1),
        ValidationDone(batches=12),
        SaveStarted(path="/ckpt/a/m.keras"),
        ExceptionRaised(type="ValueError", user_line="train.py:41"),
    )
    assert (found.callback_name(2), found.callback_name(0), found.callback_name(9)) == ("B", "", "")
    assert (found.start_iterations, found.cardinality, found.longest_validation_batches) == (
        400,
        {"validation": -1},
        12,
    )
    assert found.save_folders == {Path("/ckpt/a")}
    assert found.exception == "ValueError at train.py:41"


def test_the_pulse_sees_only_its_own_attempt(tmp_path: Path) -> None:
    first = BeatWriter(tmp_path / "beats", attempt=1)
    first.beat(Phase.STEP, step=50, mono=1.0)
    pulse = HeartbeatFollower(tmp_path / "beats", attempt=2)
    assert pulse.poll() is None
    second = BeatWriter(tmp_path / "beats", attempt=2)
    for step in range(1, 4):
        second.beat(Phase.STEP, step=step, step_ns=step * 100_000_000, mono=1.0 + step)
    newest = pulse.poll()
    assert newest is not None and (newest.step, newest.attempt) == (3, 2)
    assert [beat.step for beat in pulse.fresh] == [1, 2, 3]
    assert pulse.step_s == 0.2
    pulse.poll()
    assert pulse.fresh == []


def test_what_a_filter_was_given_since_it_last_let_one_through() -> None:
    def nodes(passed: int, given: int) -> list[dict[str, object]]:
        return [
            {"name": "Batch"},
            {"name": "Filter(id:3)", "elements": passed},
            {"name": "Repeat", "elements": given},
        ]

    seen = [(0, 10), (0, 5_000), (0, 9_000), (1, 12_000), (1, 13_000), (0, 20)]
    looks = [PipelineSeen(nodes=nodes(passed, given)) for passed, given in seen]
    assert [told(*looks[: count + 1]).sifted for count in range(6)] == [0, 4_990, 8_990, 0, 0, 0]
    rarely = [PipelineSeen(nodes=nodes(1, given)) for given in (12_000, 100_000, 101_900)]
    assert told(*looks[:4], *rarely).sifted == 89_900  # ten times what it took before
