"""Trainers that start without the seconds of an import: forked, as often as wanted, from a process that has made it.

`python -m tests.train.nursery` loads Keras and the trainer, starts nothing of either, and forks a child for every line
of standard input, `OUTPUT\tARGUMENTS…`: its number is printed, and when it has ended how. A child is what
`python -m holdfast.train ARGUMENTS…` is from there on: its own process, its own threads, its own end.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.waiting import PATIENCE_S


class Nursery:
    """From the side of a test. One child at a time."""

    def __init__(self, root: Path, environment: Mapping[str, str]) -> None:
        command = [sys.executable, "-m", "tests.train.nursery"]
        alone = {"OPENBLAS_NUM_THREADS": "1"}  # numpy's would be threads at the fork
        self.process = subprocess.Popen(
            command, cwd=root, env={**environment, **alone}, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert self._line() == "ready"

    def start(self, arguments: Sequence[str], output: Path) -> Child:
        assert self.process.stdin is not None
        self.process.stdin.write("\t".join([str(output), *arguments]).encode() + b"\n")
        self.process.stdin.flush()
        return Child(self, int(self._line()))

    def ended(self, within_s: float) -> int | None:
        """How the child ended; None when it has not yet."""
        ready, _, _ = select.select([self.process.stdout], [], [], within_s)
        return int(self._line()) if ready else None

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(timeout=PATIENCE_S)

    def _line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().decode().strip()


class Child:
    """As much of a `Popen` as is used."""

    def __init__(self, nursery: Nursery, pid: int) -> None:
        self.pid, self._nursery = pid, nursery
        self._code: int | None = None

    def poll(self) -> int | None:
        return self.wait(0.0) if self._code is None else self._code

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):  # as Popen has it
            os.kill(self.pid, signal.SIGKILL)

    def wait(self, timeout: float = 600.0) -> int | None:
        if self._code is None:
            self._code = self._nursery.ended(timeout)
        return self._code


def main() -> None:
    import holdfast.train.training_run  # noqa: F401  all that a trainer imports
    from holdfast.train.__main__ import main as trainer

    with contextlib.suppress(ImportError):  # Keras imports it on JAX too, when it is there
        import tensorflow  # noqa: F401

    threads = len(os.listdir("/proc/self/task"))
    assert threads == 1, f"{threads} threads: a fork would leave their locks behind"
    print("ready", flush=True)
    for line in iter(
        sys.stdin.readline, ""
    ):  # not `for line in stdin`, whose read-ahead a child would inherit
        output, *arguments = line.rstrip("\n").split("\t")
        pid = os.fork()
        if pid == 0:
            _become(output)
            sys.exit(trainer(arguments))
        print(pid, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


def _become(output: str) -> None:
    """The child's own files instead of the nursery's."""
    nothing, log = os.open(os.devnull, os.O_RDONLY), os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for mine, theirs in ((nothing, 0), (log, 1), (log, 2)):
        os.dup2(mine, theirs)


if __name__ == "__main__":
    main()
