"""Python stacks of a process from py-spy, which pauses it for some milliseconds."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sysconfig
from dataclasses import dataclass, replace
from typing import Any

from holdfast.host import procfs
from holdfast.journal.stack_files import Frame
from holdfast.supervise.stack_capture.thread_ids import kernel_ids

_TIMEOUT_S = 20.0  # it takes a fraction of a second, and many on a machine that is crowded


@dataclass(frozen=True, slots=True)
class PyThread:
    tid: int  # 0 where it is not known
    name: str
    frames: tuple[Frame, ...]  # innermost first, Python only
    native: tuple[str, ...]  # innermost first, when requested
    holds_interpreter: bool
    address: int = 0  # of the C library's record of the thread; 0 where it is not known


class NoStacks(Exception):
    """The message says why."""


def program() -> str | None:
    """py-spy of our own environment before any other."""
    own = os.path.join(sysconfig.get_path("scripts"), "py-spy")
    return own if os.access(own, os.X_OK) else shutil.which("py-spy")


def dump_gently(pid: int) -> list[PyThread]:
    """Without pausing a process whose Python threads all wait: nothing of them changes while they are read, and nothing
    wakes up. One that ran meanwhile is read again, with a pause.
    """
    before = _times_run(pid)
    states = [procfs.stat(pid, thread) for thread in before]
    if not any(one is not None and one.state == "R" for one in states):
        with contextlib.suppress(NoStacks):
            threads = dump(pid, pause=False)
            after, read = _times_run(pid), {pid, *(thread.tid for thread in threads)}
            if threads and all(tid and after.get(tid) and after[tid] == before.get(tid) for tid in read):
                return threads
    return dump(pid)


def _times_run(pid: int) -> dict[int, bytes | None]:
    """Of each thread, how long and how often it has run: two equal readings mean that it did not run in between."""
    return {thread: procfs.read(f"/proc/{pid}/task/{thread}/schedstat") for thread in procfs.threads(pid)}


def dump(pid: int, *, native: bool = False, pause: bool = True) -> list[PyThread]:
    """Raises NoStacks with the reason where there are none."""
    path = program()
    if path is None:
        raise NoStacks("py-spy is not installed")
    command = [path, "dump", "--json", "--pid", str(pid)]
    command += ["--native"] if native else []
    command += [] if pause else ["--nonblocking"]
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_TIMEOUT_S,
            process_group=0,  # Ctrl-C is ours: it must not end py-spy while it has the process paused
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NoStacks(f"py-spy: {error}") from error
    if done.returncode != 0:
        raise NoStacks(_reason(done.stderr.decode(errors="replace")))
    return with_kernel_ids(pid, parse(done.stdout))


def with_kernel_ids(pid: int, dumped: list[PyThread]) -> list[PyThread]:
    """The same, with the numbers that are missing; as they are where those cannot be known."""
    missing = [thread for thread in dumped if not thread.tid and thread.address]
    if not missing:
        return dumped
    known = {thread.tid for thread in dumped if thread.tid}
    found = kernel_ids(pid, {thread.address for thread in dumped if thread.address}, procfs.threads(pid))
    numbers = {address: tid for address, tid in found.items() if tid not in known}
    return [
        replace(thread, tid=numbers.get(thread.address, 0)) if not thread.tid else thread for thread in dumped
    ]


def parse(text: bytes) -> list[PyThread]:
    try:
        threads: list[dict[str, Any]] = json.loads(text)
        return [_thread(thread) for thread in threads]
    except (ValueError, KeyError, TypeError) as error:
        raise NoStacks(f"the output of py-spy is not readable: {error}") from error


def _thread(values: dict[str, Any]) -> PyThread:
    frames = values["frames"]
    return PyThread(
        tid=int(values.get("os_thread_id") or 0),
        name=str(values.get("thread_name") or ""),
        frames=tuple(
            Frame(str(frame["filename"]), int(frame["line"]), str(frame["name"]))
            for frame in frames
            if _is_python(frame)
        ),
        native=tuple(f"{frame['name']} ({frame['filename']})" for frame in frames if not _is_python(frame)),
        holds_interpreter=bool(values.get("owns_gil")),
        address=int(values.get("thread_id") or 0),
    )


def _is_python(frame: dict[str, Any]) -> bool:
    return not frame.get("module")  # native frames name their library there


def _reason(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if any("Permission" in line or "ptrace" in line for line in lines):
        return "py-spy may not read the process (ptrace is refused)"
    return f"py-spy: {lines[0]}" if lines else "py-spy gave no answer"
