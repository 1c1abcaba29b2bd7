"""The board over 500 runs: how long the first page takes, how long the whole list, and the memory of the server.

Beside it, in the same process and round by round, the plain way: reading every run's files whole and decoding every
line. `python benchmarks/board.py [RUNS]`
"""

from __future__ import annotations

import json
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from urllib.request import urlopen

from holdfast.journal import events, vitals
from holdfast.journal.folder import RunFolder
from holdfast.journal.writer import JournalWriter
from holdfast.report import overview

SAMPLES, LOSSES = 3600, 300  # an hour of a run
ROUNDS = 3


def make_runs(root: Path, count: int) -> None:
    """One run as a supervisor leaves it after an hour, copied under many names; every tenth is still being written."""
    first = RunFolder(root / "run-000")
    first.path.mkdir(parents=True)
    journal = JournalWriter(first.journal, by="supervisor")
    journal.append(events.RunOpened(name="train.py", command=["python", "train.py"]))
    journal.append(events.FitStarted(epochs=10, planned_steps_per_epoch=1000))
    for step in range(LOSSES):
        journal.append(events.LossSeen(step=step, logs={"loss": 1 / (1 + step)}, learning_rate=1e-3))
    now = time.time()
    lines = [
        vitals.encode(vitals.Sample(at=now - SAMPLES + at, mono=float(at), step=at, loss=1 / (1 + at),
                                    rss_bytes=2**30, tree_rss_bytes=2**30, memory_limit_bytes=2**32))
        for at in range(SAMPLES)
    ]  # fmt: skip
    first.vitals.write_bytes(b"".join(lines))
    for number in range(1, count):
        run = RunFolder(root / f"run-{number:03d}")
        shutil.copytree(first.path, run.path)
        if number % 10:
            found = {"outcome": "finished", "step": SAMPLES, "of": 10_000, "findings": []}
            run.verdict.write_text(json.dumps(found))


def plainly(root: Path) -> int:
    """What a page that reads everything would do for each look."""
    steps = 0
    for folder in sorted(root.iterdir()):
        run = RunFolder(folder)
        for line in run.journal.read_text().splitlines():
            json.loads(line)
        samples = [json.loads(line) for line in run.vitals.read_text().splitlines()]
        steps += samples[-1]["step"]
    return steps


def seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def served(root: Path) -> tuple[float, float, float, float]:
    """Seconds to the first page, to the whole list and to the list again, and MiB of the server's memory."""
    command = [sys.executable, "-m", "holdfast", "board", str(root)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        first_s = seconds(lambda: urlopen(address).read())
        whole_s = seconds(lambda: urlopen(address + "runs.json").read())
        again_s = seconds(lambda: urlopen(address + "runs.json").read())
        with open(f"/proc/{server.pid}/status") as status:
            peak = next(line for line in status if line.startswith("VmHWM"))
        server.terminate()
    return first_s, whole_s, again_s, int(peak.split()[1]) / 1024


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "runs"
        make_runs(root, count)
        size = sum(path.stat().st_size for path in root.rglob("*") if path.is_file())
        lines = lambda: [overview.line(run) for run in overview.find(root)]  # noqa: E731
        rounds = [(seconds(lines), seconds(lambda: plainly(root))) for _ in range(ROUNDS)]
        first_s, whole_s, again_s, memory_mib = served(root)
    ours_s, plain_s = (statistics.median(column) for column in zip(*rounds, strict=True))
    ratios = [ours / plain for ours, plain in rounds]
    print(f"{count} runs, {size / 2**20:.0f} MiB of records")
    print(f"first page        {first_s:.2f} s, with the newest runs on it")
    print(f"whole list        {whole_s:.2f} s after it, {again_s:.2f} s again")
    print(f"server's memory   {memory_mib:.0f} MiB at its peak")
    print(f"reading the list  {ours_s:.2f} s, plainly {plain_s:.2f} s; ours / plain "
          f"{statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f} in {ROUNDS} rounds)")  # fmt: skip
    print(
        f"this process      {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB at its peak"
    )


if __name__ == "__main__":
    main()
