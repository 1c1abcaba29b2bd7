"""A training thread that is at one point of one call all the time, in a process that has opened a GPU.

Once the phase has not changed for seconds, the background thread reads the thread's frames once a second: where each
is, and the values of its variables. A loop changes some of them at every turn; a thread that waits for one kernel
changes none. Whoever never lets go of the interpreter meanwhile is not read.
"""

from __future__ import annotations

import contextlib
import os
import sys
from types import FrameType
from typing import Any

from ...journal.events import SamePointSeen
from ..runtime import frame_locals, user_lines
from ..runtime.context import ProbeContext

PART = "same_point"
_QUIET_S = 3.0
_FIRST_S, _EVERY_S = 8.0, 4.0
_MAX_EVENTS, _MAX_IN_ALL = 45, 400  # of one silence, which may be judged after 90 s; of a run
_MAX_FRAMES = 12  # in an event, innermost first
_GPU_FILES = ("/dev/nvidia", "/dev/dxg", "/dev/kfd")
_PLAIN = (int, float, bool, str, bytes, type(None))
_SIZED = (list, dict, set, tuple)


class SamePointWatch:
    def __init__(self, context: ProbeContext) -> None:
        self._context = context
        self._begun = False
        self.new_run()

    def new_run(self) -> None:
        self._counters: Any = None
        self._quiet_since = 0.0
        self._point: Any = None
        self._since = 0.0
        self._events = self._in_all = 0

    def training_began(self) -> None:
        if not self._begun:
            self._begun = True
            self._context.background.every_second(PART, self.poll)

    def poll(self, now: float) -> None:
        beat = self._context.heartbeat
        counters = (
            beat.fit, beat.epoch, beat.step, beat.phase, beat.train_batches, beat.test_batches, beat.data_wait_ns,
            beat.compute_ns,
        )  # fmt: skip
        if counters != self._counters:
            self._counters, self._quiet_since, self._point, self._events = counters, now, None, 0
            return
        quiet = beat.step > 0 and now - self._quiet_since >= _QUIET_S
        if not quiet or max(self._events / _MAX_EVENTS, self._in_all / _MAX_IN_ALL) >= 1 or not opens_gpu():
            return
        frames = _frames(sys._current_frames().get(beat.thread))
        point = hash(tuple(_place(frame) for frame in frames))
        if point != self._point:
            self._point, self._since, self._events = point, now, 0
        elif now - self._since >= _FIRST_S + _EVERY_S * self._events:
            self._events += 1
            self._in_all += 1
            self._record(frames, now)

    def _record(self, frames: list[FrameType], now: float) -> None:
        users = (one for one in frames if user_lines.is_user_file(one.f_code.co_filename))
        self._context.record(
            SamePointSeen(
                step=self._context.heartbeat.step,
                for_s=round(now - self._since, 1),
                where=user_lines.of_frame(next(users, None)),
                frames=[
                    f"{one.f_code.co_filename}:{one.f_lineno} {one.f_code.co_name}"
                    for one in frames[:_MAX_FRAMES]
                ],
                result=self._context.loop.step_result,
            )
        )


def opens_gpu() -> bool:
    """Whether this process has opened the driver's files."""
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc/self/fd"):
            with contextlib.suppress(OSError):
                if os.readlink(f"/proc/self/fd/{name}").startswith(_GPU_FILES):
                    return True
    return False


def _frames(frame: FrameType | None) -> list[FrameType]:
    """Innermost first."""
    frames = []
    while frame is not None:
        frames.append(frame)
        frame = frame.f_back
    return frames


def _place(frame: FrameType) -> tuple[Any, ...]:
    """The instruction, and each variable: a plain value itself, of anything else which object it is."""
    values = tuple(sorted((name, _value(value)) for name, value in frame_locals.of(frame).items()))
    return (id(frame), frame.f_lasti, hash(values))


def _value(value: Any) -> str:
    kind = type(value)
    if kind in _PLAIN:
        return str(hash(value)) if value == value else "nan"
    return f"{id(value)} {len(value)}" if kind in _SIZED else str(id(value))
