"""Captures the stacks of all threads of all processes of a run, in several snapshots.

Python frames come from py-spy; where it is missing or ptrace is refused, from the probe's faulthandler by
SIGUSR2, and only in a process whose handler for it is the probe's: any other would run the script's own, or end.
State, system call and file of every thread come from /proc, also for processes that are not Python.
"""

from __future__ import annotations

import contextlib
import linecache
import os
import re
import signal
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from holdfast.host import procfs
from holdfast.journal.folder import RunFolder
from holdfast.journal.stack_files import Capture, Frame, ProcessStacks, StackSnapshot, Thread, write
from holdfast.supervise.stack_capture import pipe_ends, pyspy, socket_ends, syscalls
from holdfast.supervise.stack_capture.source_places import place_of
from holdfast.user_code import is_user_file

SNAPSHOTS = 3
_MOST_PROCESSES = 16
_MOST_THREADS = 400
_FAULTHANDLER_TIMEOUT_S = 0.5


class StackCapture:
    """A capture in progress: one snapshot a call, and the file is complete after each."""

    def __init__(
        self,
        folder: RunFolder,
        *,
        attempt: int,
        reason: str,
        phase: str,
        step: int,
        at: float,
        gentle: bool = False,
    ) -> None:
        """`gentle`: a process that waits is not paused, and native frames are not read."""
        self._folder = folder
        self._gentle = gentle
        self._at = at
        self.reason = reason
        self._given_up = False
        self._phase = phase
        self._step = step
        self._snapshots: list[StackSnapshot] = []
        self.file = _free_name(folder.stacks, f"{reason}-{attempt}")

    @property
    def snapshots(self) -> list[StackSnapshot]:
        return list(self._snapshots)

    @property
    def begun(self) -> bool:
        return bool(self._snapshots)

    @property
    def done(self) -> bool:
        return self._given_up or len(self._snapshots) >= SNAPSHOTS

    def give_up(self) -> None:
        """The folder cannot be written."""
        self._given_up = True

    def take_snapshot(self, pids: Sequence[int], *, trainer: int | None, now: float) -> None:
        """Native frames are read in the last snapshot only: they take seconds, and the process is paused."""
        native = not self._gentle and len(self._snapshots) == SNAPSHOTS - 1
        processes = [
            process_stacks(
                pid,
                trains=pid == trainer,
                folder=self._folder,
                native=native and pid == trainer,
                gentle=self._gentle,
            )
            for pid in pids[:_MOST_PROCESSES]
        ]
        self._snapshots.append(StackSnapshot(now, [process for process in processes if process is not None]))
        write(
            self._folder.stacks / self.file,
            Capture(self._at, self.reason, self._phase, self._step, self._snapshots),
        )


def process_stacks(
    pid: int, *, trains: bool, folder: RunFolder, native: bool, gentle: bool = False
) -> ProcessStacks | None:
    stat = procfs.stat(pid)
    if stat is None:
        return None
    threads = [_thread(pid, tid) for tid in procfs.threads(pid)[:_MOST_THREADS]]  # before py-spy wakes them
    python = PythonThreads()
    if looks_like_python(pid) and stat.state != "Z":
        python = python_threads(pid, folder, native=native, gentle=gentle)
    by_tid = {thread.tid: thread for thread in python.threads if thread.tid}
    threads = [
        _with_frames(thread, by_tid[thread.tid]) if thread.tid in by_tid else thread for thread in threads
    ]
    threads += [
        Thread(name=thread.name, frames=[with_source_line(frame) for frame in thread.frames])
        for thread in python.threads
        if not thread.tid
    ]
    return ProcessStacks(
        pid=pid,
        parent=stat.parent,
        name=stat.name,
        command=procfs.command_line(pid)[:300],
        state=stat.state,
        trains=trains,
        source=python.source,
        error=python.error,
        threads=threads,
        reads=pipe_ends.open_read_ends(pid),
        writes=pipe_ends.open_write_ends(pid),
        makes_pipes=pipe_ends.pipe_creation_lines(
            frame.file for thread in threads for frame in thread.frames if is_user_frame(frame)
        ),
    )


class PythonThreads(NamedTuple):
    threads: Sequence[pyspy.PyThread] = ()
    source: str = "none"  # py-spy | faulthandler | none
    error: str = ""  # why there are none


def python_threads(
    pid: int, folder: RunFolder, *, native: bool = False, gentle: bool = False
) -> PythonThreads:
    try:
        return PythonThreads(pyspy.dump_gently(pid) if gentle else _dump(pid, native), "py-spy")
    except pyspy.NoStacks as reason:
        dumped = ask_faulthandler(pid, folder)
        return PythonThreads(dumped, "faulthandler") if dumped else PythonThreads(error=str(reason))


def _dump(pid: int, native: bool) -> list[pyspy.PyThread]:
    if native:
        with contextlib.suppress(pyspy.NoStacks):  # refused more often than without native frames
            return pyspy.dump(pid, native=True)
    return pyspy.dump(pid)


def _thread(pid: int, tid: int) -> Thread:
    stat = procfs.stat(pid, tid)
    call = syscalls.current_syscall(pid, tid)
    return Thread(
        tid=tid,
        name=stat.name if stat is not None else "",
        state=stat.state if stat is not None else "",
        wait=procfs.wait_channel(pid, tid) or (call.name if call is not None else ""),
        syscall=syscalls.describe_syscall(pid, call),
        cpu_s=stat.cpu_s if stat is not None else 0.0,
        main=tid == pid,
        socket=socket_ends.waited_for(pid, call) if tid == pid else {},
    )


def _with_frames(thread: Thread, python: pyspy.PyThread) -> Thread:
    return replace(
        thread,
        name=python.name or thread.name,
        frames=[with_source_line(frame) for frame in python.frames],
        native=list(python.native),
        holds_interpreter=python.holds_interpreter,
    )


def with_source_line(frame: Frame) -> Frame:
    """With the text of the line and what is around it, where the file is the user's own and still there."""
    if not is_user_frame(frame):
        return frame
    place = place_of(frame.file, frame.line)
    return replace(
        frame,
        code=linecache.getline(frame.file, frame.line).strip()[:200],
        yields=place.yields,
        endless=place.endless,
        connects=place.connects,
    )


def is_user_frame(frame: Frame) -> bool:
    return is_user_file(frame.file)


def looks_like_python(pid: int) -> bool:
    try:
        if "python" in os.path.basename(os.readlink(f"/proc/{pid}/exe")):
            return True
    except PermissionError:  # the command's first word is readable for everybody
        return "python" in os.path.basename(procfs.command_line(pid).partition(" ")[0])
    except OSError:
        return False
    return b"libpython" in (procfs.read(f"/proc/{pid}/maps") or b"")


def ask_faulthandler(pid: int, folder: RunFolder) -> list[pyspy.PyThread]:
    """The stacks that the process writes itself on SIGUSR2; empty when it does not, or must not get the signal."""
    path = folder.fault_file(pid)
    try:
        if not _may_be_signalled(pid, folder):
            return []
        before = path.stat().st_size
        os.kill(pid, signal.SIGUSR2)
        return pyspy.with_kernel_ids(pid, parse_faulthandler(_await_growth(path, before), main_tid=pid))
    except OSError:  # the process has ended, and its file is removed
        return []


def _may_be_signalled(pid: int, folder: RunFolder) -> bool:
    """It has a handler, the handler is the probe's and not the script's, and the probe's file is still open: a script
    may have closed it, and the stacks would go into whatever file has its descriptor now."""
    return (
        procfs.catches(pid, signal.SIGUSR2)
        and not folder.unasked_file(pid).exists()
        and _has_file_open(pid, folder.fault_file(pid))
    )


def _has_file_open(pid: int, path: Path) -> bool:
    wanted = path.stat()
    for name in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(OSError):  # closed meanwhile
            if os.path.samestat(os.stat(f"/proc/{pid}/fd/{name}"), wanted):
                return True
    return False


def _await_growth(path: Path, before: int) -> str:
    until = time.monotonic() + _FAULTHANDLER_TIMEOUT_S
    size = before
    while time.monotonic() < until:
        time.sleep(0.05)
        now = path.stat().st_size
        if now > before and now == size:
            break
        size = now
    with path.open("rb") as file:
        file.seek(before)
        return file.read().decode(errors="replace")


_HEAD = re.compile(r"(?:Current thread|Thread) (0x[0-9a-f]+)(?: \[.*?\])? \(most recent call first\):")
_FRAME = re.compile(r'  File "(.*?)", line (\d+) in (.*)')


def parse_faulthandler(text: str, *, main_tid: int) -> list[pyspy.PyThread]:
    """Faulthandler writes no thread ids of the kernel. It writes the main thread last."""
    threads: list[tuple[str, list[Frame]]] = []
    for line in text.splitlines():
        if head := _HEAD.match(line):
            threads.append((head[1], []))
        elif (frame := _FRAME.match(line)) and threads:
            threads[-1][1].append(Frame(frame[1], int(frame[2]), frame[3]))
    return [
        pyspy.PyThread(
            tid=main_tid if number == len(threads) - 1 else 0,
            name="MainThread" if number == len(threads) - 1 else f"thread {name}",
            frames=tuple(frames),
            native=(),
            holds_interpreter=False,
            address=int(name, 16),
        )
        for number, (name, frames) in enumerate(threads)
    ]


def _free_name(folder: Path, stem: str) -> str:
    number = 1
    while (folder / f"{stem}-{number}.json").exists():
        number += 1
    return f"{stem}-{number}.json"
