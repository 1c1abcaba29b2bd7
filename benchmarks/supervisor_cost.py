"""What the supervisor itself takes: processor time, memory, and how long it holds up a child that prints 200 MB.

    python benchmarks/supervisor_cost.py [--seconds 60]

The child is made as busy to look at as a training process: 80 threads that sleep, four worker processes,
600 MB of memory. The budget is 1 % of a core and 60 MB, of the supervisor and its relay together.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from holdfast.host import procfs

CHILD = """
import multiprocessing, threading, time
held = bytearray(600_000_000)
for _ in range(80):
    threading.Thread(target=time.sleep, args=(3600,), daemon=True).start()
for _ in range(4):
    multiprocessing.get_context("fork").Process(target=time.sleep, args=(3600,), daemon=True).start()
time.sleep(3600)
"""
PRINTER = """
import sys, time
line = b"x" * 99 + b"\\n"
began = time.monotonic()
for _ in range(20):
    sys.stdout.buffer.write(line * 100_000)
sys.stdout.flush()
open("took", "w").write(str(time.monotonic() - began))
"""


def watched(folder: Path, code: str, **streams: int) -> subprocess.Popen[bytes]:
    words = [sys.executable, "-m", "holdfast", "run", "--", sys.executable, "-c", code]
    return subprocess.Popen(words, cwd=folder, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **streams)


def cost(folder: Path, seconds: float) -> dict[str, float]:
    supervisor = watched(folder, CHILD)
    time.sleep(8)
    journal = next(folder.glob("runs/*/journal.jsonl")).read_text().splitlines()
    child = next(json.loads(line)["event"]["pid"] for line in journal if '"attempt_started"' in line)
    relay = next(pid for pid in procfs.children(supervisor.pid) if pid != child)
    ours = (supervisor.pid, relay)
    before = {pid: procfs.stat(pid) for pid in ours}
    began = time.monotonic()
    time.sleep(seconds)
    passed = time.monotonic() - began
    after = {pid: procfs.stat(pid) for pid in ours}
    shares = [(after[pid].cpu_s - before[pid].cpu_s) / passed for pid in ours]  # type: ignore[union-attr]
    memory = [procfs.memory_parts(pid) for pid in ours]
    os.kill(child, 9)
    supervisor.wait(timeout=30)
    return {
        "supervisor_core_percent": round(100 * shares[0], 3),
        "relay_core_percent": round(100 * shares[1], 3),
        "supervisor_rss_mb": round(memory[0]["Rss"] / 1e6, 1),
        "relay_rss_mb": round(memory[1]["Rss"] / 1e6, 1),
        "both_pss_mb": round(sum(one["Pss"] for one in memory) / 1e6, 1),
    }


def printing(folder: Path) -> dict[str, float]:
    """Seconds from the child's first byte of 200 MB to its last, by its own clock: into a pipe that `cat` empties
    as fast as it can, and watched; interleaved, medians of five."""
    plain, with_us = [], []
    for _ in range(5):
        shell = [f"\"{sys.executable}\" -c '{PRINTER}' | cat > /dev/null"]
        subprocess.run(shell, shell=True, cwd=folder, check=True)
        plain.append(float((folder / "took").read_text()))
        watched(folder, PRINTER, stdout=subprocess.DEVNULL).wait()
        with_us.append(float((folder / "took").read_text()))
    return {
        "piped_to_cat_s": round(statistics.median(plain), 2),
        "watched_s": round(statistics.median(with_us), 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    seconds = parser.parse_args().seconds
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(cost(Path(folder), seconds)))
        print(json.dumps(printing(Path(folder))))


if __name__ == "__main__":
    main()
