"""The detector over a simulated process: what it records, and what it captures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from holdfast.journal import reader
from holdfast.journal.beats import Beat, Phase
from holdfast.journal.events import EndlessSeen, StacksCaptured, Stalled, StallEnded
from holdfast.journal.folder import RunFolder
from holdfast.supervise.recording.journal_state import JournalState
from holdfast.supervise.recording.recorder import Recorder
from holdfast.supervise.stall import closer_look, stall_captures
from holdfast.supervise.stall.activity import ActivitySample
from holdfast.supervise.stall.detector import StallDetector
from holdfast.supervise.stall.judgement import CloserLook, StallKind
from holdfast.supervise.stall.stall_captures import StallCaptures


class Captured:
    """Stands in for the real capture, which reads stacks: done after one look."""

    def __init__(self, folder: RunFolder, *, reason: str, **_: object) -> None:
        self.reason, self.begun, self.done = reason, False, False
        Captured.count += 1
        self.file = f"{reason}-{Captured.count}.json"

    count = 0

    def take_snapshot(self, pids: Sequence[int], *, trainer: int | None, now: float) -> None:
        self.begun = self.done = True


class Watched:
    """A run whose steps take as long as the test says, with one tick of the detector a second."""

    def __init__(self, path: Path) -> None:
        self.folder = RunFolder(path)
        self.now, self.step, self.cpu_s = 1000.0, 1, 0.0
        recorder = Recorder(self.folder, print_line=lambda text: None)
        self.journal = JournalState()
        self.captures = StallCaptures(self.folder, recorder)
        self.detector = StallDetector(
            recorder,
            self.journal,
            self.captures,
            now=self.now,
            configured_s=5.0,
            print_line=lambda text: None,
        )

    def steps(self, count: int, seconds: int, *, cores: float) -> None:
        for _ in range(count):
            self.step += 1
            for second in range(seconds):
                self.now += 1
                self.cpu_s += cores
                self._tick(self._beat(Phase.STEP, mono=self.now - second, test_batches=0))

    def validate(self, batches: int) -> None:
        """A batch a second."""
        for batch in range(1, batches + 1):
            self.step += 1  # the sequence of beats
            self.now += 1
            self.cpu_s += 1
            self._tick(self._beat(Phase.VALIDATION, mono=self.now, test_batches=batch))

    def _beat(self, phase: Phase, *, mono: float, test_batches: int) -> Beat:
        return Beat(
            sequence=self.step, mono=mono, phase=phase, attempt=1, pid=7, callback_index=0, fit=1, epoch=0,
            step=self.step, train_batches=9, test_batches=test_batches, data_wait_ns=0, compute_ns=0, loss=0.1,
            has_loss=True, step_ns=10,
        )  # fmt: skip

    def _tick(self, beat: Beat) -> None:
        self.detector.update(ActivitySample(self.now, beat, cpu_s=self.cpu_s), [beat], [], 7)
        for call in (self.captures._snapshot, self.detector._closer_looks._call):
            if call is not None:
                call.wait(20.0)

    def kinds(self) -> list[object]:
        return [entry.event for entry in reader.read(self.folder.journal)]


@pytest.fixture
def watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Watched:
    Captured.count = 0
    monkeypatch.setattr(stall_captures, "StackCapture", Captured)
    monkeypatch.setattr(closer_look, "look", lambda *_, **__: CloserLook())
    return Watched(tmp_path)


def test_a_phase_that_pauses_for_ever_is_captured_twenty_times(watched: Watched) -> None:
    """The limit is set by hand, so that it does not grow with the pauses."""
    for _ in range(25):
        watched.steps(2, 1, cores=1.0)
        watched.steps(1, 10, cores=0.0)
    recorded = watched.kinds()
    assert len([one for one in recorded if isinstance(one, Stalled)]) == 25
    assert len([one for one in recorded if isinstance(one, StacksCaptured)]) == 20
    assert [len(one.stacks) for one in recorded if isinstance(one, Stalled)] == [1] * 20 + [0] * 5


def test_the_one_that_does_not_end_is_captured_all_the_same(watched: Watched) -> None:
    for _ in range(22):
        watched.steps(2, 1, cores=1.0)
        watched.steps(1, 10, cores=0.0)
    watched.steps(1, 700, cores=0.0)
    captured = [one.file for one in watched.kinds() if isinstance(one, StacksCaptured)]
    assert len(captured) == 21 and captured[-1] == "stall-21.json"


def test_how_long_it_stood_is_counted_from_when_it_last_moved(watched: Watched) -> None:
    watched.steps(2, 1, cores=1.0)
    watched.steps(1, 10, cores=0.0)
    watched.steps(2, 1, cores=1.0)
    (ended,) = [one for one in watched.kinds() if isinstance(one, StallEnded)]
    assert ended.silent_for_s == 10.0


def test_a_validation_without_an_end_is_a_stall_until_it_ends(watched: Watched) -> None:
    watched.journal.cardinality["validation"] = -1
    watched.journal.data_only_loops.add("validation")
    watched.steps(3, 1, cores=1.0)
    watched.validate(30)
    stall = watched.detector.stall
    assert stall is not None and stall.judgement.kind is StallKind.ENDLESS_VALIDATION and not stall.suspended
    assert stall.description.endswith(
        "the validation may never end: its dataset has no end, and no number of steps was given"
    )
    watched.steps(3, 1, cores=1.0)
    assert watched.detector.stall is None
    assert [type(event) for event in watched.kinds()] == [EndlessSeen, Stalled, StacksCaptured, StallEnded]
