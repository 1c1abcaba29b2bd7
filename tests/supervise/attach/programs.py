"""Small programs to attach to, as real processes."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

#: Two threads that wait for each other's lock; a line on standard input lets them go.
DEADLOCK = """
import sys, threading
first, second, met = threading.Lock(), threading.Lock(), threading.Barrier(2)
def other():
    with second:
        met.wait()
        with first:
            pass
thread = threading.Thread(target=other, name="other", daemon=True)
def release():
    sys.stdin.readline()
    first.release()
threading.Thread(target=release, daemon=True).start()
first.acquire()
thread.start()
met.wait()
print("ready", flush=True)
second.acquire()
print("done", flush=True)
"""
#: Computes until a line comes, then prints what a run that nobody watched prints too.
WORKS = """
import sys, threading
over = []
threading.Thread(target=lambda: over.append(sys.stdin.readline()), daemon=True).start()
print("ready", flush=True)
value, steps = 1, 0
while not over or steps < 1000:
    value, steps = value * 1103515245 + 12345 & 0x7FFFFFFF, steps + 1
    if steps == 1000:
        print(value, flush=True)
sys.exit(int(over[0] or 0))
"""
#: Reads a pipe into which nobody writes.
READS = "import os\nr, w = os.pipe()\nprint('ready', flush=True)\nos.read(r, 1)\n"
#: Has a file mapped whose path is that of TensorFlow's library.
WITH_FRAMEWORK = """
import mmap, os, sys
os.makedirs("tensorflow", exist_ok=True)
with open("tensorflow/libtensorflow_cc.so", "w+b") as file:
    file.write(bytes(4096)); file.flush()
    library = mmap.mmap(file.fileno(), 4096, prot=mmap.PROT_READ)
print("ready", flush=True)
sys.stdin.readline()
"""


class Program:
    def __init__(self, code: str, folder: Path, *before: str) -> None:
        folder.mkdir(exist_ok=True)
        (folder / "train.py").write_text(code)
        self.process = subprocess.Popen(
            [*before, sys.executable, "train.py"],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "ready\n"

    @property
    def pid(self) -> int:
        return self.process.pid

    def tell(self, line: str = "") -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()


@contextlib.contextmanager
def running(code: str, folder: Path, *before: str) -> Iterator[Program]:
    program = Program(code, folder, *before)
    try:
        yield program
    finally:
        program.process.kill()
        program.process.communicate()
