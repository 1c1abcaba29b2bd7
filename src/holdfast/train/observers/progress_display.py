"""Progress for a person: a block that is redrawn in place on a terminal, plain lines in a file."""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable
from typing import TextIO

from holdfast.journal import events as ev
from holdfast.journal.events import Event
from holdfast.report.text import wants_colour
from holdfast.train.event_text import words
from holdfast.train.observers import progress_text
from holdfast.train.observers.memory_usage import host_memory
from holdfast.train.observers.progress_text import MemoryUsage, ProgressState, span
from holdfast.train.observers.throughput import ThroughputMeter

LIVE_EVERY_S = 0.2
#: A line every 10 s for the first minutes, then every minute: a run of a day leaves a log that can be read.
PLAIN_EVERY_S, SLOW_LINES_AFTER_S, SLOW_LINES_EVERY_S = 10.0, 300.0, 60.0


class ProgressDisplay:
    """`memory` gives what is in use, `wait_share` the part of the time that is spent waiting for data."""

    def __init__(
        self,
        steps: int,
        batch: int,
        *,
        out: TextIO = sys.stdout,
        clock: Callable[[], float] = time.monotonic,
        memory: Callable[[], tuple[MemoryUsage, ...]] = lambda: (host_memory(),),
        wait_share: Callable[[], float] | None = None,
        monitor: str = "AP",
        best: float | None = None,
    ) -> None:
        self._steps, self._batch, self._out, self._clock, self._memory = steps, batch, out, clock, memory
        self._wait_share = wait_share
        self._live, self._colour = out.isatty(), wants_colour(out)
        self._began = self._shown_at = -math.inf
        self._pace = ThroughputMeter()
        self._last: ev.LossSeen | None = None
        self._validation, self._monitor = "", monitor
        self._best = -math.inf if best is None else best
        self._saved_at: int | None = None
        self._doing = ""
        self._drawn = 0  # lines of the block that stand on the terminal

    def say(self, event: Event) -> None:
        match event:
            case ev.LossSeen(gradient_norm=None) if self._last is not None and self._last.step == event.step:
                return  # the means before a validation: the step itself was shown
            case ev.LossSeen():
                self._seen(event)
                return
            case ev.ValidationStarted():
                self._pace.idle_from(self._clock())
                self._doing = "validating"
                self._draw()
            case ev.ValidationDone(logs=logs):
                self._pace.idle_until(self._clock())
                self._doing = ""
                self._line(self._validated(event))
                self._validation = f"AP {logs['AP']:.3f}" if "AP" in logs else ""
            case ev.SaveDone(step=step):
                self._saved_at = step
            case ev.FitDone():
                self._draw()
                self._drawn, self._live = 0, False  # what is said from here on stands below
        if not isinstance(event, ev.ValidationDone) and (text := words(event)):
            self._line(text)

    def _validated(self, event: ev.ValidationDone) -> str:
        at = f" at step {self._last.step}" if self._last is not None else ""
        value = event.logs.get(self._monitor, -math.inf)
        best = ", the best so far" if value > self._best > -math.inf else ""
        self._best = max(self._best, value)
        shown = "  ".join(
            f"{name} {event.logs[name]:.3f}" for name in ("AP", "AP50", "AP75") if name in event.logs
        )
        return f"validation{at}: {shown}{best}  ({span(event.duration_s)})"

    def _seen(self, event: ev.LossSeen) -> None:
        now = self._clock()
        self._began = now if self._last is None else self._began
        self._last = event
        self._pace.step_done(event.step, now)
        if now - self._shown_at >= self._every_s(now) or event.step == self._steps:
            self._shown_at = now
            if self._live:
                self._draw()
            else:
                self._write(progress_text.plain_line(self._state()) + "\n")

    def _every_s(self, now: float) -> float:
        if self._live:
            return LIVE_EVERY_S
        return PLAIN_EVERY_S if now - self._began < SLOW_LINES_AFTER_S else SLOW_LINES_EVERY_S

    def _state(self) -> ProgressState:
        assert self._last is not None
        seen, speed = self._last, self._pace.steps_per_s()
        return ProgressState(
            step=seen.step, steps=self._steps, epoch=(seen.epoch or 0) + 1, loss=seen.logs.get("loss", math.nan),
            parts={name: value for name, value in seen.logs.items() if name != "loss"},
            rate=seen.learning_rate or 0.0, images_per_s=speed * self._batch if speed else None,
            left_s=(self._steps - seen.step) / speed if speed else None,
            wait_share=self._wait_share() if self._wait_share else None, memory=self._memory(),
            validation=self._validation, saved_at=self._saved_at, doing=self._doing,
        )  # fmt: skip

    def _draw(self) -> None:
        """Redraws the block over the one that stands there, and leaves the cursor below it for whoever comes next."""
        if not self._live or self._last is None:
            return
        lines = progress_text.live_block(self._state(), width=_width(), colour=self._colour)
        self._write(self._erased() + "".join(f"{line}\n" for line in lines))
        self._drawn = len(lines)

    def _line(self, text: str) -> None:
        """A line that stays, above the block."""
        self._write(f"{self._erased()}{text}\n")
        self._drawn = 0
        self._draw()

    def _erased(self) -> str:
        return f"\r\x1b[{self._drawn}A\x1b[J" if self._drawn else ""

    def _write(self, text: str) -> None:
        try:
            self._out.write(text)
            self._out.flush()
        except ValueError:  # closed under us: nobody reads it any more
            pass


def _width() -> int:
    try:
        return os.get_terminal_size().columns or 80
    except OSError:
        return 80
