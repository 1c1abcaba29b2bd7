"""Steps per second, over the last half minute of training without validation. Pure."""

from __future__ import annotations

WINDOW_S = 30.0


class ThroughputMeter:
    def __init__(self) -> None:
        self._points: list[tuple[float, int]] = []  # training seconds, step
        self._idle_s = 0.0
        self._idle_since: float | None = None

    def step_done(self, step: int, now: float) -> None:
        trained_s = now - self._idle_s
        if self._points and step <= self._points[-1][1]:
            self._points = []  # rolled back to a checkpoint
        self._points.append((trained_s, step))
        while len(self._points) > 2 and trained_s - self._points[1][0] >= WINDOW_S:
            self._points.pop(0)

    def idle_from(self, now: float) -> None:
        self._idle_since = now

    def idle_until(self, now: float) -> None:
        if self._idle_since is not None:
            self._idle_s += now - self._idle_since
            self._idle_since = None

    def steps_per_s(self) -> float | None:
        """None before two points at different times."""
        if len(self._points) < 2:
            return None
        (began, first), (ended, last) = self._points[0], self._points[-1]
        return (last - first) / (ended - began) if ended > began else None
