"""Stack captures of a stalled run: several snapshots each, in a thread, so that Ctrl-C is answered meanwhile."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from holdfast.host.threads import BackgroundCall
from holdfast.journal.beats import Beat
from holdfast.journal.events import StacksCaptured
from holdfast.journal.folder import RunFolder
from holdfast.supervise.recording.recorder import Recorder
from holdfast.supervise.stack_capture.capture import StackCapture

_BEFORE_KILL_TIMEOUT_S = 5.0
_MAX_CAPTURES = 20  # of one phase: each pauses the process for a moment
_DISTURBS_S = 2.0
_LONG_STALL_S = 600.0  # from which a stall is captured anyway: it is not one of those that end by themselves


class StallCaptures:
    def __init__(
        self, folder: RunFolder, recorder: Recorder, *, gentle: bool = False, every_s: float = 0.0
    ) -> None:
        """`gentle`: a process that waits is not paused, and native frames are not read."""
        self.folder = folder
        self._gentle = gentle
        self._every_s = every_s
        self._taken_at = float("-inf")
        self._recorder = recorder
        self._count: Counter[str] = Counter()  # by phase
        self._capture: StackCapture | None = None
        self._snapshot: BackgroundCall[None] | None = None
        #: Reading a stack interrupts system calls: a blocked write returns what it had written so far.
        self.disturbed_until = float("-inf")

    @property
    def complete(self) -> bool:
        """Whether all stacks of the present stall are written."""
        return self._capture is None or (self._capture.done and self._snapshot is None)

    @property
    def reading(self) -> bool:
        """Whether stacks are being read: that wakes every thread, and takes CPU time in the process."""
        return self._snapshot is not None

    def begin(self, beat: Beat | None) -> list[str]:
        """For a stall that was just announced: the file that the stacks will be in; none after many captures."""
        if self._capture is not None:  # begun before anybody knew that it is a stall
            return [self._capture.file]
        phase = _phase(beat)
        self._count[phase] += 1
        self._capture = self._new("stall", beat) if self._count[phase] <= _MAX_CAPTURES else None
        return [self._capture.file] if self._capture is not None else []

    def begin_now(self, reason: str) -> StackCapture:
        """Whatever the process does."""
        self._capture = self._new(reason, None)
        return self._capture

    def end(self) -> None:
        self._capture = None

    def update(
        self, pids: Sequence[int], trainer: int, *, now: float, beat: Beat | None, stalled_for_s: float
    ) -> None:
        """Starts the next snapshot when the last one is done."""
        if self._snapshot is not None:
            self.disturbed_until = now + _DISTURBS_S
            if not self._snapshot.done:
                return
            self._snapshot, self._taken_at = None, now
        if self._capture is None and stalled_for_s >= _LONG_STALL_S:
            self._capture = self._new("stall", beat)
        capture = self._capture
        if capture is not None and not capture.done and now - self._taken_at >= self._every_s:
            self.disturbed_until = now + _DISTURBS_S
            self._snapshot = BackgroundCall(lambda: self._take_snapshot(capture, list(pids), trainer, now))

    def capture_before_kill(self, beat: Beat | None, trainer: int, *, now: float) -> None:
        """One snapshot of a process that is about to be killed; waits for a moment only."""
        if self._snapshot is not None and not self._snapshot.wait(_BEFORE_KILL_TIMEOUT_S):
            return
        capture = self._new("before-kill", beat)
        BackgroundCall(lambda: self._take_snapshot(capture, [], trainer, now)).wait(_BEFORE_KILL_TIMEOUT_S)

    def _new(self, reason: str, beat: Beat | None) -> StackCapture:
        return StackCapture(
            self.folder,
            attempt=self._recorder.attempt,
            reason=reason,
            phase=_phase(beat),
            step=beat.step if beat is not None else 0,
            at=self._recorder.wall(),
            gentle=self._gentle,
        )

    def _take_snapshot(self, capture: StackCapture, pids: Sequence[int], trainer: int, now: float) -> None:
        first = not capture.begun
        try:
            capture.take_snapshot(
                [trainer, *(pid for pid in pids if pid != trainer)], trainer=trainer, now=now
            )
        except OSError as error:
            capture.give_up()
            self._recorder.report_failure("stacks", error)
            return
        if first:
            self._recorder.append(StacksCaptured(reason=capture.reason, file=capture.file))


def _phase(beat: Beat | None) -> str:
    return beat.phase.label if beat is not None else ""
