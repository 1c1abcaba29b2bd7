"""What one heartbeat and one journal event cost.   python benchmarks/heartbeat.py

Aim: a heartbeat under 2 µs. The yardsticks in the same run: a read of the clock, and a write of as many
bytes to a pipe that is being read, which is what a heartbeat would cost without the ring.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from holdfast.journal.beats import BeatWriter, Phase
from holdfast.journal.events import EpochDone, SaveDone
from holdfast.journal.writer import JournalWriter


def microseconds(call: Callable[[], object], count: int, rounds: int = 7) -> float:
    """Median over rounds of the mean of `count` calls."""
    means = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(count):
            call()
        means.append((time.perf_counter() - start) / count * 1e6)
    return statistics.median(means)


def drain(fd: int) -> None:
    while os.read(fd, 1 << 16):
        pass


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        beats = BeatWriter(Path(folder) / "beats")
        journal = JournalWriter(Path(folder) / "journal.jsonl", by="benchmark")
        read_end, write_end = os.pipe()
        threading.Thread(target=drain, args=(read_end,), daemon=True).start()
        record = b"x" * 92
        rows = [
            ("reading the clock", microseconds(time.monotonic, 100_000)),
            (
                "one heartbeat",
                microseconds(lambda: beats.write(Phase.STEP, step=7, epoch=1, loss=0.5), 50_000),
            ),
            ("the same bytes into a pipe", microseconds(lambda: os.write(write_end, record), 20_000)),
            ("one journal event", microseconds(lambda: journal.append(EpochDone(epoch=3, steps=10)), 3_000)),
            ("one event that is synced", microseconds(lambda: journal.append(SaveDone(path="x")), 30)),
        ]
        os.close(write_end)
    beat = dict(rows)["one heartbeat"]
    for what, cost in rows:
        print(f"{what:<28} {cost:10.2f} µs   {cost / beat:8.1f} heartbeats")
    print(f"aim: a heartbeat under 2 µs: {'reached' if beat < 2 else 'NOT reached'}")


if __name__ == "__main__":
    main()
