"""What every thread of a stalled run was doing: a reading of several looks at their stacks.

The Python stack of the main thread is the same for every stall on the side of tf.data; the state, the wait
channel and the system call of each thread decide, and the other threads' Python frames.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from holdfast.explain.finding import Fact
from holdfast.journal.stack_files import Capture, Frame, ProcessStacks, Thread
from holdfast.user_code import is_user_file

if TYPE_CHECKING:
    from holdfast.explain.evidence import Evidence

_STORAGE_WAITS = re.compile(
    r"rpc_|nfs|fuse|ceph|cifs|smb|io_schedule|folio_wait|wait_on_page|wait_on_buffer|blk_|ext4|xfs_|request_wait|"
    r"submit_bio|balance_dirty|d_alloc_parallel|lookup_slow|p9_|v9fs|virtio"
)

#: Share of a core above which a thread computes; and above which it computes a little on a crowded machine, where it is
#: found running or ready to run in most looks. Chosen: they separate threads that
#: compute from threads that wait in the test programs.
_MUCH_CPU, _SOME_CPU, _MOST_LOOKS = 0.4, 0.03, 0.6
#: Share of a core, all processes together, below which nothing computes; timers and heartbeats take some. Chosen.
_IDLE_CPU = 0.15


@dataclass(frozen=True, slots=True)
class ThreadState:
    """One thread over all looks."""

    tid: int
    name: str
    state: str
    wait: str
    syscall: str
    frames: tuple[Frame, ...]  # of the newest look that has any, innermost first
    native: tuple[str, ...]
    main: bool
    cpu_share: float  # of one core, between the first and the last look
    still: bool  # the frames were the same in all looks
    runs: float = 0.0  # share of the looks in which it was running or ready to run
    socket: Mapping[str, Any] = field(default_factory=dict)  # that it waits for, of a main thread

    @property
    def python(self) -> bool:
        return bool(self.frames)

    @property
    def busy(self) -> bool:
        """It computes, or would: on a crowded machine a thread that wants to run gets little of a core."""
        wants = self.cpu_share > _SOME_CPU and self.runs >= _MOST_LOOKS
        return self.cpu_share > _MUCH_CPU or wants

    @property
    def users(self) -> Frame | None:
        """The innermost frame of the user's own code."""
        return next((frame for frame in self.frames if is_user_file(frame.file)), None)

    @property
    def below_users(self) -> list[Frame]:
        """The frames that the user's innermost one called; all where there is none of the user's."""
        return list(takewhile(lambda frame: not is_user_file(frame.file), self.frames))

    @property
    def in_storage(self) -> bool:
        return bool(_STORAGE_WAITS.search(self.wait)) or self.state == "D"

    @property
    def on_lock(self) -> bool:
        return "futex" in self.wait or self.syscall.startswith("futex") or "sem_wait" in self.wait

    def within(self, *names: str) -> Frame | None:
        """The first frame whose function or file holds one of the names."""
        return first_named(self.frames, *names)

    @property
    def joins_processes(self) -> bool:
        """It waits for processes that it started: they, and not this thread, say what for."""
        files = ("multiprocessing/spawn.py", "multiprocessing/process.py", "multiprocessing/popen_fork.py",
                 "multiprocess/process.py", "elastic/agent/server/api.py")  # fmt: skip
        joins = [one for one in self.frames if plain_name(one) in ("join", "wait", "_invoke_run")]
        return any(one.file.endswith(files) for one in joins)

    @property
    def users_file_line(self) -> str:
        return f"{self.users.file}:{self.users.line}" if self.users is not None else ""

    @property
    def shown_name(self) -> str:
        """ "" for the main thread of its process."""
        return "" if self.main else self.name or str(self.tid)

    @property
    def where(self) -> str:
        frame = self.users or (self.frames[0] if self.frames else None)
        return place(frame) if frame else ""

    @property
    def users_line(self) -> str:
        """The same, where it is in the user's own code."""
        return self.where if self.users is not None else ""


@dataclass(frozen=True, slots=True)
class ProcessState:
    """One process over all looks."""

    pid: int
    name: str
    command: str
    state: str
    trains: bool
    threads: tuple[ThreadState, ...]
    parent: int = 0
    error: str = ""
    reads: tuple[str, ...] = ()  # pipes whose reading end it holds
    writes: tuple[str, ...] = ()  # pipes and FIFOs that it has open to write
    makes_pipes: tuple[str, ...] = ()  # lines of its source that start a program with a pipe

    @property
    def main(self) -> ThreadState | None:
        return min(self.threads, key=lambda one: not one.main, default=None)

    @property
    def cpu_share(self) -> float:
        return sum(thread.cpu_share for thread in self.threads)

    @property
    def users_line(self) -> str:
        """Where its main thread is in the user's own code."""
        return self.main.users_line if self.main is not None else ""

    @property
    def lone_on_lock(self) -> bool:
        """Its only thread waits for a lock: no other one is there that could release it."""
        return len(self.threads) == 1 and self.threads[0].on_lock and not self.threads[0].busy


@dataclass(frozen=True, slots=True)
class StackReading:
    source: str
    phase: str
    step: int
    process: ProcessState  # the one that trains
    others: tuple[ProcessState, ...]

    @property
    def main(self) -> ThreadState | None:
        return self.process.main

    @property
    def python_threads(self) -> list[ThreadState]:
        return [thread for thread in self.process.threads if thread.python]

    @property
    def busy(self) -> list[ThreadState]:
        return [thread for thread in self.process.threads if thread.busy]

    @property
    def idle(self) -> bool:
        """Nothing of it, nor of its descendants, computes."""
        shares = [self.process.cpu_share, *(other.cpu_share for other in self.others)]
        return sum(shares) < _IDLE_CPU and not self.busy


@dataclass(frozen=True, slots=True)
class StalledThread:
    """A thread that a rule looked for, in its process."""

    thread: ThreadState
    process: ProcessState
    reading: StackReading

    @property
    def trains(self) -> bool:
        """It is one of the process that trains."""
        return self.process is self.reading.process

    def _fact(self, kind: str, **values: Any) -> Fact:
        thread = self.thread
        common = {
            "thread": thread.shown_name,
            "pid": None if self.trains else self.process.pid,
            "process": "" if self.trains else self.process.name,
            "where": thread.where,
            "code": thread.users.code if thread.users is not None else "",
            "wait": thread.wait,
            "syscall": thread.syscall,
            "inside": "",
        }
        return Fact(kind, {**common, **values}, self.reading.source)

    @property
    def fact(self) -> Fact:
        return self._fact("thread.stalled")

    def fact_inside(self, frame: Frame) -> Fact:
        """The same, with the frame of a library that says what it waits for."""
        return self._fact("thread.stalled", inside=place(frame))

    @property
    def busy_fact(self) -> Fact:
        """The same of a thread that computes."""
        return self._fact("thread.busy", cpu_share=self.thread.cpu_share)


def stalled_threads(evidence: Evidence, where: Callable[[ThreadState], bool]) -> list[StalledThread]:
    """The threads of a stalled run that fulfil `where`: first those of the process that trains, its main one first."""
    reading = evidence.stacks
    if evidence.stall is None or reading is None:
        return []
    return [
        StalledThread(thread, process, reading)
        for process in (reading.process, *reading.others)
        for thread in sorted(process.threads, key=lambda one: not one.main)
        if where(thread)
    ]


def stalled_thread(evidence: Evidence, where: Callable[[ThreadState], bool]) -> StalledThread | None:
    return next(iter(stalled_threads(evidence, where)), None)


def silence(evidence: Evidence) -> tuple[Fact, ...]:
    """How long a stalled run has not moved."""
    stall, seconds = evidence.stall, evidence.silent_for_s
    return (stall.fact("stall.silent", seconds=seconds, phase=stall.event.phase),) if stall else ()


def first_named(frames: Iterable[Frame], *names: str) -> Frame | None:
    named = (one for one in frames if any(name in one.function or name in one.file for name in names))
    return next(named, None)


def plain_name(frame: Frame) -> str:
    """The function without its class: py-spy has either, by the version of Python."""
    return frame.function.rpartition(".")[2]


def place(frame: Frame) -> str:
    return f"{frame.file}:{frame.line}" + (f" in {frame.function}" if frame.function else "")


def read_stacks(capture: Capture, *, source: str, started_in: str = "") -> StackReading | None:
    """`started_in`: the folder that the command was started in; files are named from there on, as the probe does."""
    looks = [look for look in capture.looks if look.processes]
    if not looks:
        return None
    span_s = max(looks[-1].mono - looks[0].mono, 0.0)
    seen = [process for look in looks for process in look.processes]
    pids = [process.pid for process in looks[-1].processes]
    folder = started_in.rstrip("/") + "/"
    merged = [_process([one for one in seen if one.pid == pid], span_s, folder) for pid in pids]
    trains = next((one for one in merged if one.trains), merged[0])
    others = tuple(one for one in merged if one.pid != trains.pid)
    return StackReading(source, capture.phase, capture.step, trains, others)


def _process(seen: list[ProcessStacks], span_s: float, folder: str) -> ProcessState:
    newest, looks = seen[-1], [thread for one in seen for thread in one.threads]
    over = [[one for one in looks if one.tid == last.tid] for last in newest.threads]
    return ProcessState(
        pid=newest.pid,
        name=newest.name,
        command=newest.command,
        state=newest.state,
        trains=newest.trains,
        threads=tuple(_thread(one, span_s, folder) for one in over),
        parent=newest.parent,
        error=newest.error,
        reads=tuple(newest.reads),
        writes=tuple(newest.writes),
        makes_pipes=tuple(newest.makes_pipes),
    )


def _thread(over: list[Thread], span_s: float, folder: str) -> ThreadState:
    newest = over[-1]
    looks = [[_shortened(frame, folder) for frame in thread.frames if _is_python(frame)] for thread in over]
    framed = [frames for frames in looks if frames]
    frames = tuple(framed[-1]) if framed else ()
    native = next((tuple(thread.native) for thread in reversed(over) if thread.native), ())
    ran_s = newest.cpu_s - over[0].cpu_s
    return ThreadState(
        tid=newest.tid,
        name=newest.name,
        state=newest.state,
        wait=newest.wait,
        syscall=newest.syscall,
        frames=frames,
        native=native,
        main=newest.main,
        cpu_share=ran_s / span_s if span_s > 0 and len(over) > 1 else 0.0,
        runs=sum(thread.state == "R" for thread in over) / len(over),
        still=all(_places(look) == _places(framed[0]) for look in framed),
        socket=newest.socket,
    )


def _is_python(frame: Frame) -> bool:
    """Stacks with native frames name some that have no file."""
    return bool(frame.file) and frame.file != "?" and not frame.function.startswith("0x")


def _shortened(frame: Frame, folder: str) -> Frame:
    """A file of the user's own, from that folder on; a library keeps its whole path, by which it is known."""
    short = frame.file.removeprefix(folder) if folder != "/" else frame.file
    # A script without an ending, or a folder named as a library is, is known as the user's by its whole path only.
    known = short != frame.file and is_user_file(frame.file) and is_user_file(short)
    return replace(frame, file=short) if known else frame


def _places(frames: list[Frame]) -> list[tuple[str, int]]:
    """The user's own lines; where there is none, the innermost few."""
    own = [(frame.file, frame.line) for frame in frames if is_user_file(frame.file)]
    return own or [(frame.file, frame.line) for frame in frames[:3]]
