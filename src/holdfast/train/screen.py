"""What a person sees while it trains: one line that lives on a terminal, plain lines elsewhere."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import TextIO

from holdfast.journal import events as ev
from holdfast.journal.events import Event

PLAIN_EVERY_S, LIVE_EVERY_S = 10.0, 0.2


class Screen:
    """`rss` gives the bytes of memory in use and at their peak, `wait_share` the part of the time spent on data."""

    def __init__(
        self, steps: int, batch: int, *, out: TextIO = sys.stdout, clock: Callable[[], float] = time.monotonic,
        rss: Callable[[], tuple[int, int]] = lambda: memory_now(), wait_share: Callable[[], float] | None = None,
    ) -> None:  # fmt: skip
        self._steps, self._batch, self._out, self._clock, self._rss = steps, batch, out, clock, rss
        self._wait_share = wait_share
        self._live = out.isatty()
        self._shown_at = -1e9
        self._began: tuple[int, float] | None = None
        self._last: ev.LossSeen | None = None
        self._validation = ""

    def say(self, event: Event) -> None:
        if isinstance(event, ev.LossSeen):
            self._seen(event)
            return
        text = words(event)
        if isinstance(event, ev.ValidationDone) and event.logs:
            self._validation = f"AP {event.logs.get('AP', -1):.3f}"
        if text:
            self._line(text)

    def _seen(self, event: ev.LossSeen) -> None:
        now = self._clock()
        if self._began is None:
            self._began = (event.step, now)
        self._last = event
        if (
            now - self._shown_at >= (LIVE_EVERY_S if self._live else PLAIN_EVERY_S)
            or event.step == self._steps
        ):
            self._shown_at = now
            text = self._status(now)
            self._write(f"\r\x1b[2K{text[: _width() - 1]}" if self._live else f"{text}\n")

    def _status(self, now: float) -> str:
        assert self._last is not None
        assert self._began is not None
        seen, (first, since) = self._last, self._began
        done, taken_s = seen.step - first, now - since
        parts = [f"step {seen.step}/{self._steps}", f"epoch {(seen.epoch or 0) + 1}"]
        losses = " ".join(f"{name} {value:.3f}" for name, value in seen.logs.items() if name != "loss")
        parts.append(f"loss {seen.logs.get('loss', float('nan')):.3f} ({losses})")
        parts.append(f"rate {seen.learning_rate or 0:.2e}")
        if done > 0 and taken_s > 0:
            parts.append(f"{done * self._batch / taken_s:.1f} images/s")
            parts.append(f"{span((self._steps - seen.step) * taken_s / done)} left")
        if self._wait_share is not None:
            parts.append(f"waits for data {self._wait_share():.0%}")
        now_bytes, peak_bytes = self._rss()
        parts.append(f"memory {now_bytes / 2**30:.1f} GiB (peak {peak_bytes / 2**30:.1f})")
        return "  ".join([*parts, *([self._validation] if self._validation else [])])

    def _line(self, text: str) -> None:
        self._write(f"\r\x1b[2K{text}\n" if self._live else f"{text}\n")

    def _write(self, text: str) -> None:
        try:
            self._out.write(text)
            self._out.flush()
        except ValueError:  # closed under us: nobody reads it any more
            pass


def words(event: Event) -> str:
    """One line for what a person wants to hear of; nothing for the rest."""
    match event:
        case ev.NoteMade(text=text):
            return text
        case ev.Restored(path=path, iterations=iterations):
            return f"goes on from step {iterations} ({path})"
        case ev.ValidationDone(logs=logs, duration_s=took_s) if logs:
            shown = "  ".join(f"{name} {logs[name]:.3f}" for name in ("AP", "AP50", "AP75") if name in logs)
            return f"validation: {shown}  ({span(took_s)})"
        case ev.SaveFailed(path=path, error=error, free_bytes=free):
            room = f", {free / 2**20:.0f} MiB free" if free is not None else ""
            return f"not saved: {path}: {error}{room}"
        case ev.StopRequested(by=by):
            return f"stopping: {by}"
        case ev.NonFiniteSeen(name=name, step=step, value=value):
            return f"step {step}: {name} is {value}; the step was not applied"
    return ""


def span(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def memory_now() -> tuple[int, int]:
    """Resident bytes of this process, now and at its peak."""
    with open("/proc/self/status") as file:
        fields = dict(line.split(":", 1) for line in file)
    return tuple(int(fields[name].split()[0]) * 1024 for name in ("VmRSS", "VmHWM"))  # type: ignore[return-value]


def _width() -> int:
    try:
        return os.get_terminal_size().columns
    except OSError:
        return 80
