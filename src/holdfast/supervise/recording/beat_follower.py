"""Follows the heartbeat ring of one attempt: the newest beat, and how long its steps take."""

from __future__ import annotations

import statistics
from pathlib import Path

from holdfast.journal.beats import Beat, BeatReader, Phase

#: Beats read one by one in a second. Where more come, steps are far too short to matter for a limit.
_MAX_BEATS = 128


class HeartbeatFollower:
    def __init__(self, path: Path, *, attempt: int) -> None:
        self._reader = BeatReader(path)
        self._attempt = attempt
        self._last: Beat | None = None
        self.newest: Beat | None = None
        self.new_beats: list[
            Beat
        ] = []  # since the last poll, the newest last; not all of them when there are many
        self.step_s: float | None = None  # median of the steps since the last poll

    def poll(self) -> Beat | None:
        newest = self._reader.newest()
        if newest is None or newest.attempt != self._attempt & 0xFFFF:
            return None
        last = self._last.sequence if self._last is not None else max(0, newest.sequence - _MAX_BEATS)
        self.new_beats = [
            beat
            for beat in self._reader.beats_since(max(last, newest.sequence - _MAX_BEATS))
            if beat.attempt == newest.attempt
        ]
        self.step_s = median_step_s(self.new_beats)
        self._last = self.newest = newest
        return newest

    def close(self) -> None:
        self._reader.close()


def median_step_s(beats: list[Beat]) -> float | None:
    durations_ns = {beat.step: beat.step_ns for beat in beats if beat.step_ns and beat.phase != Phase.COMPILE}
    return statistics.median(durations_ns.values()) / 1e9 if durations_ns else None
