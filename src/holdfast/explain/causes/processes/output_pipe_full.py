"""A write to standard output blocks: nobody reads it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.readings.stacks import ProcessState, StackReading, ThreadState
from holdfast.explain.unconverted import Fact, Finding, Remedy, Strength
from holdfast.explain.words import clipped


@cause(
    "output-pipe-full",
    Group.PROCESSES,
    specialises=(
        "callback-blocked",
        "input-blocked",
    ),
)
def output_pipe_full(evidence: Evidence) -> Finding | None:
    standing = evidence.stacks
    if evidence.stall is None or standing is None:
        return None
    processes = (standing.process, *standing.others)
    for process in processes:
        for thread in process.threads:
            write = _blocked_write(thread)
            if write is None:
                continue
            reader = _reader(processes, write, not_=process)
            if write.number in (1, 2) or write.terminal or _is_users_own(standing, process, thread, reader):
                return _finding(standing.source, process, thread, write, reader)
    return None


@dataclass(frozen=True, slots=True)
class _Write:
    number: int | None  # of the file; None where the system call could not be read
    pipe: str
    terminal: bool

    @property
    def what(self) -> str:
        standard = {1: "standard output", 2: "standard error"}.get(self.number or 0, "")
        return standard or ("a terminal" if self.terminal else "a pipe")


def _blocked_write(thread: ThreadState) -> _Write | None:
    writes = re.match(r"(write|writev|sendto|sendmsg)\b.*fd=(\d+) \((.*)\)", thread.syscall)
    blocked = (
        "pipe_write" in thread.wait
        or "pipe_wait_writable" in thread.wait
        or (writes is not None and "pipe" in writes[3] and thread.state == "S")
    )
    terminal = "tty_write" in thread.wait or "n_tty_write" in thread.wait
    if not (blocked or terminal):
        return None
    return _Write(int(writes[2]) if writes else None, writes[3] if writes else "", terminal)


def _reader(processes: tuple[ProcessState, ...], write: _Write, *, not_: ProcessState) -> ProcessState | None:
    """Who holds the other end, and could read it."""
    holders = [one for one in processes if write.pipe in one.reads and one.pid != not_.pid]
    return next((one for one in holders if one.makes_pipes), holders[0] if holders else None)


def _is_users_own(
    standing: StackReading, process: ProcessState, thread: ThreadState, reader: ProcessState | None
) -> bool:
    """A pipe that the user's own line writes to. Pools have pipes of their own, and stand in them as a symptom."""
    unknown = "write" not in thread.syscall and thread.users is not None  # the system call could not be read
    pool = thread.within("multiprocessing/", "concurrent/") is not None
    return (unknown or reader is not None) and process is standing.process and not pool and thread.python


def _finding(
    source: str, process: ProcessState, thread: ThreadState, write: _Write, reader: ProcessState | None
) -> Finding:
    at = f" at {thread.where}" if thread.users is not None else ""
    who = "the main thread" if thread.main else "a thread"
    facts = [
        Fact(
            f"{who} of {process.name or 'process'} {process.pid} stands in a write{at}: "
            f"{thread.syscall or thread.wait}",
            source,
        )
    ]
    made = ""
    if reader is not None:
        main = reader.main
        stands = f"; it stands at {main.where}" if main is not None and main.where else ""
        facts.append(
            Fact(
                f"process {reader.pid} ({clipped(reader.command or reader.name, 60)}) holds the other end and "
                f"does not read it{stands}",
                source,
            )
        )
    maker = reader if reader is not None and reader.makes_pipes else process
    if maker.makes_pipes:
        made = f"; the pipe was made at {maker.makes_pipes[0]}"
        facts.append(Fact(f"a program is started with PIPE at {', '.join(maker.makes_pipes[:3])}", source))
    return Finding(
        "output-pipe-full",
        Strength.ESTABLISHED if write.number in (1, 2) or write.terminal or reader else Strength.SUPPORTED,
        f"a write to {write.what} blocks, because nobody reads it{at}{made}",
        tuple(facts),
        (),
        (
            Remedy(
                "read the pipe, or write to a file",
                "your-choice",
                'subprocess.run(command, stdout=open("log", "w"), stderr=subprocess.STDOUT)',
            ),
            Remedy(
                "with Popen(stdout=PIPE) somebody must read all the time: communicate(), or a thread",
                "your-choice",
            ),
        ),
    )
