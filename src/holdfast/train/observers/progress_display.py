"""The progress display: a block that is redrawn in place on a terminal, plain lines in a file."""

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
from holdfast.terminal_text import write_control
from holdfast.train.event_text import event_line
from holdfast.train.observers import progress_text
from holdfast.train.observers.memory_usage import host_memory
from holdfast.train.observers.progress_text import MemoryUsage, ProgressState
from holdfast.train.observers.throughput import ThroughputMeter
from holdfast.units import duration

LIVE_EVERY_S = 0.2
#: A line every 10 s for the first minutes, then every minute: the log of a long run stays readable.
PLAIN_EVERY_S, SLOW_LINES_AFTER_S, SLOW_LINES_EVERY_S = 10.0, 300.0, 60.0


class ProgressDisplay:
    """`memory` gives the memory in use, `wait_share` the share of time spent waiting for data.

    `in_step` says whether a step is being computed. The loop collects a result once the next step was started; that of
    the last step before a validation or the end comes right after the one before, and says nothing about the speed.
    """

    name = "the progress display"

    def __init__(
        self,
        steps: int,
        batch: int,
        *,
        out: TextIO = sys.stdout,
        clock: Callable[[], float] = time.monotonic,
        memory: Callable[[], tuple[MemoryUsage, ...]] = lambda: (host_memory(),),
        wait_share: Callable[[], float] | None = None,
        in_step: Callable[[], bool] = lambda: True,
        monitor: str = "AP",
        best: float | None = None,
    ) -> None:
        self._steps, self._batch, self._out, self._clock, self._memory = steps, batch, out, clock, memory
        self._wait_share, self._in_step = wait_share, in_step
        self._live, self._colour = out.isatty(), wants_colour(out)
        self._began = self._shown_at = -math.inf
        self._throughput = ThroughputMeter()
        self._last: ev.LossSeen | None = None
        self._validation, self._monitor = "", monitor
        self._best = -math.inf if best is None else best
        self._saved_at: int | None = None
        self._activity = ""
        self._drawn = 0  # lines of the block on the terminal

    def notify(self, event: Event) -> None:
        match event:
            case ev.LossSeen(gradient_norm=None) if self._last is not None and self._last.step == event.step:
                return  # the means before a validation; the step itself was shown
            case ev.LossSeen():
                self._show_loss(event)
                return
            case ev.ValidationStarted():
                self._throughput.idle_from(self._clock())
                self._activity = "validating"
                self._draw()
            case ev.ValidationDone(logs=logs):
                self._throughput.idle_until(self._clock())
                self._activity = ""
                self._line(self._validation_line(event))
                self._validation = f"AP {logs['AP']:.3f}" if "AP" in logs else ""
            case ev.SaveDone(step=step):
                self._saved_at = step
            case ev.FitDone():
                self._draw()
                self._drawn, self._live = 0, False  # later lines come below
        if not isinstance(event, ev.ValidationDone) and (text := event_line(event)):
            self._line(text)

    def _validation_line(self, event: ev.ValidationDone) -> str:
        at = f" at step {self._last.step}" if self._last is not None else ""
        value = event.logs.get(self._monitor, -math.inf)
        best = ", the best so far" if value > self._best > -math.inf else ""
        self._best = max(self._best, value)
        metrics = "  ".join(
            f"{name} {event.logs[name]:.3f}" for name in ("AP", "AP50", "AP75") if name in event.logs
        )
        return f"validation{at}: {metrics}{best}  ({duration(event.duration_s)})"

    def _show_loss(self, event: ev.LossSeen) -> None:
        now = self._clock()
        self._began = now if self._last is None else self._began
        self._last = event
        if self._in_step():
            self._throughput.step_done(event.step, now)
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
        last, speed = self._last, self._throughput.steps_per_s()
        return ProgressState(
            step=last.step, steps=self._steps, epoch=(last.epoch or 0) + 1, loss=last.logs.get("loss", math.nan),
            parts={name: value for name, value in last.logs.items() if name != "loss"},
            learning_rate=last.learning_rate or 0.0, images_per_s=speed * self._batch if speed else None,
            remaining_s=(self._steps - last.step) / speed if speed else None,
            wait_share=self._wait_share() if self._wait_share else None, memory=self._memory(),
            validation=self._validation, saved_at=self._saved_at, activity=self._activity,
        )  # fmt: skip

    def _draw(self) -> None:
        """Redraws the block in place, and leaves the cursor below it for other output."""
        if not self._live or self._last is None:
            return
        lines = progress_text.live_block(self._state(), width=_width(), colour=self._colour)
        self._write("".join(f"{line}\n" for line in lines))
        self._drawn = len(lines)

    def _line(self, text: str) -> None:
        """A line that stays, above the block."""
        self._write(f"{text}\n")
        self._drawn = 0
        self._draw()

    def _write(self, text: str) -> None:
        """In the place of the block, when there is one."""
        try:
            if self._drawn:
                write_control(self._out, f"\r\x1b[{self._drawn}A\x1b[J")
            self._out.write(text)
            self._out.flush()
        except ValueError:  # closed meanwhile
            pass


def _width() -> int:
    try:
        return os.get_terminal_size().columns or 80
    except OSError:
        return 80
