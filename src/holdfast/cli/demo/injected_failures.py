"""Failures that `holdfast demo` injects from outside into a running training. The verdict knows nothing of them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from holdfast.errors import HoldfastError
from holdfast.journal.beats import BeatReader
from holdfast.journal.folder import RunFolder

_BALLOON = (
    "import time\nkept = []\nwhile True:\n    kept.append(bytearray(b'x') * (8 << 20)); time.sleep(0.02)\n"
)


def wait_until_past_a_checkpoint(process: subprocess.Popen[bytes], run: RunFolder) -> int | None:
    """The trainer's pid, some steps after its first checkpoint; None when it ended before."""
    reader = BeatReader(run.beats)
    saved = None
    while process.poll() is None:
        beat = reader.newest()
        if saved is None and any(run.checkpoints.glob("step-*")):
            saved = beat.step if beat else 0
        if beat is not None and saved is not None and beat.step >= saved + 5:
            return beat.pid
        time.sleep(0.05)
    return None


def kill(process: subprocess.Popen[bytes], run: RunFolder) -> None:
    _send(process, run, signal.SIGKILL)


def freeze(process: subprocess.Popen[bytes], run: RunFolder) -> None:
    """Suspends the trainer, waits for the supervisor to detect the stall, explains it, and applies the remedy."""
    pid = _send(process, run, signal.SIGSTOP)
    while process.poll() is None and b'"kind": "stalled"' not in run.journal.read_bytes():
        time.sleep(0.5)
    print(f"\n$ holdfast explain runs/{run.name}      # while it is stalled\n", flush=True)
    subprocess.run([sys.executable, "-m", "holdfast", "explain", run.name], cwd=run.path.parent, check=False)
    if pid is not None and process.poll() is None:
        print(f"\n$ kill -CONT {pid}      # the remedy; the training continues", flush=True)
        os.kill(pid, signal.SIGCONT)


def _send(process: subprocess.Popen[bytes], run: RunFolder, what: signal.Signals) -> int | None:
    pid = wait_until_past_a_checkpoint(process, run)
    if pid is not None:
        print(f"\n$ kill -{what.name.removeprefix('SIG')} {pid}      # the trainer", flush=True)
        os.kill(pid, what)
    return pid


class Squeeze:
    """A control group for the training, and another process in it that takes its memory."""

    def __init__(self) -> None:
        self._group, self._limit_name, self._used_name = _new_group()
        self._balloon: subprocess.Popen[bytes] | None = None

    def enter(self) -> None:
        """For the child, between fork and exec."""
        (self._group / "cgroup.procs").write_text(str(os.getpid()))

    def tighten(self, process: subprocess.Popen[bytes], run: RunFolder) -> None:
        if wait_until_past_a_checkpoint(process, run) is None:
            return
        limit = int((self._group / self._used_name).read_text()) + (96 << 20)
        (self._group / self._limit_name).write_text(str(limit))
        print(
            f"\n# the memory of the control group is now limited to {limit / 2**30:.2f} GiB, and another process in it "
            "allocates more and more",
            flush=True,
        )
        self._balloon = subprocess.Popen([sys.executable, "-c", _BALLOON], preexec_fn=self.enter)

    def close(self) -> None:
        if self._balloon is not None:
            self._balloon.kill()
            self._balloon.wait()
        for _ in range(50):  # until its last process has been reaped
            try:
                self._group.rmdir()
                return
            except OSError:
                time.sleep(0.1)


def _new_group() -> tuple[Path, str, str]:
    """A child of our group (version 1) or a sibling (version 2, where a group with processes has no children)."""
    from holdfast.host import cgroup

    ours = cgroup.find("self")
    name = f"holdfast-demo-{os.getpid()}"
    try:
        if ours.memory is None:
            raise OSError("there is no memory controller")
        if ours.version == 1:
            group = ours.memory.path / name
            group.mkdir()
            return group, "memory.limit_in_bytes", "memory.usage_in_bytes"
        group = ours.memory.path.parent / name
        group.mkdir()
        (group / "memory.max").write_text("max")
        return group, "memory.max", "memory.current"
    except OSError as error:
        raise HoldfastError(
            "the demo cannot create a control group here, and --break oom needs one",
            found=str(error),
            change=[
                "run it as root, or in a container with a writable /sys/fs/cgroup",
                "or use --break kill",
            ],
        ) from error


Failure = Callable[[subprocess.Popen[bytes], RunFolder], None]
