"""What an attached process did in the first seconds: for the screen, and for the journal."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from holdfast.host import descriptors, procfs, ptrace_access, sockets
from holdfast.journal.events import ProcessObserved
from holdfast.journal.stack_files import Frame, ProcessStacks, StackSnapshot, Thread
from holdfast.journal.vitals import Sample
from holdfast.supervise.attach.target import Target
from holdfast.supervise.monitor import gpu_works_for_us
from holdfast.supervise.stack_capture.capture import is_user_frame
from holdfast.supervise.stack_capture.stack_phase import StackPhase, read_phase

_MAX_THREADS = 6
_MAX_CHILDREN = 8
_MAX_FILES = 8
_BUSY_SHARE = 0.2  # of a core
_MOVES_SHARE = 0.02  # of a core, all processes together: less are timers and housekeeping
_MOVES_BYTES = 32 * 1024
_TIMED = re.compile(
    r"(futex|p?poll|epoll_p?wait2?|p?select6?)$|(clock_)?nanosleep|rt_sigtimedwait|semtimedop"
)
_READS = re.compile(
    r"(read|pread64|readv|preadv|recvfrom|recvmsg|accept4?|connect|open|openat|write|writev|flock|fcntl)\b"
)
_LIBRARY = re.compile(
    r"\.so(\.\d+)*$|^/(dev|proc|sys|memfd)|^anon_inode|^socket:|^pipe:|/site-packages/|\(deleted\)$"
)


@dataclass(frozen=True, slots=True)
class Totals:
    """Of all processes of the tree, at one moment."""

    mono: float
    cpu_s: float
    read_bytes: int
    written_bytes: int
    rss_bytes: int


def observe(
    target: Target,
    snapshots: Sequence[StackSnapshot],
    samples: Sequence[Sample],
    totals: tuple[Totals, Totals],
    *,
    idle_s: float | None,
    idle_by_thread: dict[tuple[int, int], float],
    gpus: list[dict[str, Any]],
) -> ProcessObserved:
    first, last = totals
    span_s = max(last.mono - first.mono, 1e-3)
    processes = snapshots[-1].processes if snapshots else []
    trainer = next((one for one in processes if one.pid == target.trainer), None)
    phase = phase_of(trainer)
    shares = _cpu_shares(snapshots)
    cpu_share = (last.cpu_s - first.cpu_s) / span_s
    read, written = last.read_bytes - first.read_bytes, last.written_bytes - first.written_bytes
    moves = (
        cpu_share >= _MOVES_SHARE
        or read + written >= _MOVES_BYTES
        or _frames_changed(snapshots, target.trainer)
        or _wants_processor(snapshots, target.trainer)
        or any(gpu_works_for_us(gpu) for gpu in gpus)
    )
    return ProcessObserved(
        watched_s=round(span_s, 1),
        uptime_s=round(target.uptime_s, 1),
        frameworks=list(target.frameworks),
        doing=phase.doing.value,
        phase=phase.phase.label if phase.phase is not None else "",
        where=_place(phase.frame) if phase.frame is not None else "",
        moves=moves,
        idle_s=None if moves or idle_s is None else round(idle_s + span_s, 1),
        cpu_share=round(cpu_share, 3),
        read_bytes=read,
        written_bytes=written,
        rss_bytes=last.rss_bytes,
        rss_grown_bytes=last.rss_bytes - first.rss_bytes,
        threads=_threads(trainer, shares, idle_by_thread, [one.pid for one in processes]),
        children=_children(processes, samples, shares, target),
        gpus=gpus,
        open_files=procfs.open_files(target.trainer),
        files=open_data_files(target.trainer),
        output=output_of(target.trainer),
        unreadable=trainer.error if trainer is not None else "",
        refusal=ptrace_access.refusal(target.trainer) or "",
    )


def phase_of(process: ProcessStacks | None) -> StackPhase:
    return (
        read_phase(process.threads, from_python=process.source == "py-spy")
        if process is not None
        else StackPhase()
    )


def waits_endlessly(syscall: str) -> bool:
    """In a system call without a time limit."""
    return bool(syscall) and _TIMED.match(syscall) is None


def output_of(pid: int) -> list[dict[str, Any]]:
    """Where it prints to, and how long ago a file there was last written."""
    found = []
    for stream, number in (("stdout", 1), ("stderr", 2)):
        try:
            link = os.readlink(f"/proc/{pid}/fd/{number}")
            written = os.stat(f"/proc/{pid}/fd/{number}")
        except OSError:
            continue
        regular = os.path.isabs(link) and not link.startswith("/dev/")
        silent_s = round(max(0.0, time.time() - written.st_mtime), 1) if regular else None
        found.append({"stream": stream, "to": link, "silent_s": silent_s})
    if len(found) == 2 and found[0]["to"] == found[1]["to"]:
        return [{**found[0], "stream": "output"}]
    return found


def open_data_files(pid: int) -> list[str]:
    """Files that it has open and that are not libraries, pipes, sockets or devices."""
    names = [name for number, name in descriptors.links(pid) if number > 2 and not _LIBRARY.search(name)]
    return list(dict.fromkeys(names))[:_MAX_FILES]


def _cpu_shares(snapshots: Sequence[StackSnapshot]) -> dict[tuple[int, int], float]:
    """Of a core, by process and thread, between the first and the last snapshot."""
    if len(snapshots) < 2:
        return {}
    span_s = max(snapshots[-1].mono - snapshots[0].mono, 1e-3)
    before = {(one.pid, t.tid): t.cpu_s for one in snapshots[0].processes for t in one.threads}
    return {
        (one.pid, t.tid): max(0.0, t.cpu_s - before.get((one.pid, t.tid), t.cpu_s)) / span_s
        for one in snapshots[-1].processes
        for t in one.threads
    }


def _frames_changed(snapshots: Sequence[StackSnapshot], pid: int) -> bool:
    seen = [
        [(frame.file, frame.line) for thread in one.threads if thread.main for frame in thread.frames]
        for look in snapshots
        for one in look.processes
        if one.pid == pid and one.source == "py-spy"
    ]
    return any(one != seen[0] for one in seen[1:])


def _wants_processor(snapshots: Sequence[StackSnapshot], pid: int) -> bool:
    """Its main thread could run at every look; on a crowded machine it may not have got to."""
    states = [
        thread.state
        for look in snapshots
        for one in look.processes
        if one.pid == pid
        for thread in one.threads
        if thread.main
    ]
    return bool(states) and all(state == "R" for state in states)


def _threads(
    process: ProcessStacks | None,
    shares: dict[tuple[int, int], float],
    idle: dict[tuple[int, int], float],
    tree: Sequence[int],
) -> list[dict[str, Any]]:
    """The main thread; those with lines of the script; native ones that read or compute."""
    if process is None:
        return []
    wanted = [thread for thread in process.threads if thread.main]
    own = [one for one in process.threads if not one.main and _own_frame(one) is not None]
    native = [one for one in process.threads if not one.main and not one.frames]
    own.sort(key=lambda one: -shares.get((process.pid, one.tid), 0.0))
    native = [
        one for one in native if shares.get((process.pid, one.tid), 0.0) >= _BUSY_SHARE or _reads(one.syscall)
    ]
    return [_thread(process.pid, one, shares, idle, tree) for one in [*wanted, *own, *native][:_MAX_THREADS]]


def _reads(syscall: str) -> bool:
    """From a file, pipe or socket. Each native thread pool has a descriptor by which it is woken up."""
    return _READS.match(syscall) is not None and "eventfd" not in syscall


def _thread(
    pid: int,
    thread: Thread,
    shares: dict[tuple[int, int], float],
    idle: dict[tuple[int, int], float],
    tree: Sequence[int],
) -> dict[str, Any]:
    own = _own_frame(thread)
    frame = own or (thread.frames[0] if thread.frames else None)
    inner = thread.frames[0] if thread.frames and thread.frames[0] is not frame else None
    return {
        "pid": pid,
        "thread": thread.tid,
        "name": thread.name,
        "main": thread.main,
        "where": _place(frame) if frame is not None else "",
        "code": own.code if own is not None else "",
        "inside": _place(inner) if inner is not None else "",
        "state": thread.state,
        "syscall": thread.syscall,
        "wait": thread.wait,
        "other_end": _other_end(pid, thread.syscall, tree),
        "endless": waits_endlessly(thread.syscall),
        "cpu_share": round(shares.get((pid, thread.tid), 0.0), 3),
        "idle_s": round(idle[pid, thread.tid], 1) if (pid, thread.tid) in idle else None,
    }


def _other_end(pid: int, syscall: str, tree: Sequence[int]) -> str:
    link = re.search(r"\(((?:socket|pipe):\[\d+\])\)", syscall)
    if link is None:
        return ""
    if link[1].startswith("socket"):
        return sockets.peer_of(pid, link[1])
    writers = sockets.writers_of(link[1], [one for one in tree if one != pid])
    return f"process {writers[0]} has its other end" if writers else ""


def _children(
    processes: Sequence[ProcessStacks],
    samples: Sequence[Sample],
    shares: dict[tuple[int, int], float],
    target: Target,
) -> list[dict[str, Any]]:
    rss = {one.pid: one.rss_bytes for one in samples[-1].processes} if samples else {}
    found = []
    for one in processes:
        if one.pid in (target.trainer, target.pid):
            continue
        main = next((thread for thread in one.threads if thread.main), None)
        own = _own_frame(main) if main is not None else None
        found.append(
            {
                "pid": one.pid,
                "command": one.command[:120] or one.name,
                "state": one.state,
                "rss_bytes": rss.get(one.pid),
                "cpu_share": round(sum(share for (pid, _), share in shares.items() if pid == one.pid), 3),
                "where": _place(own) if own is not None else "",
                "syscall": main.syscall if main is not None else "",
            }
        )
    return found[:_MAX_CHILDREN]


def _own_frame(thread: Thread) -> Frame | None:
    return next((frame for frame in thread.frames if is_user_frame(frame)), None)


def _place(frame: Frame) -> str:
    return f"{frame.file}:{frame.line} in {frame.function}"
