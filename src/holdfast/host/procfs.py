"""Reads /proc. Each function reads one file, and gives None when the process has gone or may not be read."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_FIRST_READ_BYTES = 2048  # the kernel gives at least this much at once, so a shorter answer is complete
_LOOKS_AT_A_STARTING_PROGRAM = 1000
_LOOKS_AT_ONE_THAT_WAITS = 20  # it has started, and has no words
_STARTING_PROGRAM_S = 0.005  # between two looks
_EXIT_STATUS = 49  # the place of the field behind the name; the last one since Linux 3.5
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class Stat:
    """Of a process or of a thread."""

    pid: int
    name: str
    state: str
    parent: int
    group: int
    major_faults: int
    user_s: float
    system_s: float
    threads: int
    started_ticks: int  # distinguishes a process from a later one with the same pid
    virtual_bytes: int
    rss_bytes: int

    @property
    def cpu_s(self) -> float:
        return self.user_s + self.system_s

    @property
    def started_s(self) -> float:
        """By the machine's monotonic clock, which a suspension stops and the kernel's ticks do not: never too late, and
        too early by what the machine has been suspended since."""
        suspended_s = time.clock_gettime(time.CLOCK_BOOTTIME) - time.monotonic()
        return self.started_ticks / _TICKS_PER_S - suspended_s


def read(path: str) -> bytes | None:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        text = os.read(fd, 65536)
        while len(text) >= _FIRST_READ_BYTES and (more := os.read(fd, 65536)):
            text += more
        return text
    except OSError:
        return None
    finally:
        os.close(fd)


def stat(pid: int, thread: int | None = None) -> Stat | None:
    text = read(f"/proc/{pid}/stat" if thread is None else f"/proc/{pid}/task/{thread}/stat")
    return parse_stat(text) if text else None


def parse_stat(text: bytes) -> Stat | None:
    """A name may contain spaces and brackets, so the fields are counted from the last bracket."""
    opening, closing = text.find(b"("), text.rfind(b")")
    if opening < 0 or closing < 0:
        return None
    rest = text[closing + 2 :].split()
    if len(rest) < 22:
        return None
    return Stat(
        pid=int(text[:opening]),
        name=text[opening + 1 : closing].decode(errors="replace"),
        state=rest[0].decode(),
        parent=int(rest[1]),
        group=int(rest[2]),
        major_faults=int(rest[9]),
        user_s=int(rest[11]) / _TICKS_PER_S,
        system_s=int(rest[12]) / _TICKS_PER_S,
        threads=int(rest[17]),
        started_ticks=int(rest[19]),
        virtual_bytes=int(rest[20]),
        rss_bytes=int(rest[21]) * _PAGE_BYTES,
    )


def exit_status(pid: int) -> int | None:
    """Of a process that has ended and was not waited for: its exit code, or the number of the signal with a minus.

    The kernel shows it to whoever may read the process's memory, and 0 to everybody else.
    """
    try:
        readable = os.geteuid() in (0, os.stat(f"/proc/{pid}").st_uid)
    except OSError:
        return None
    fields = (read(f"/proc/{pid}/stat") or b"").rpartition(b")")[2].split()
    if not readable or len(fields) <= _EXIT_STATUS or fields[0] != b"Z":
        return None
    return os.waitstatus_to_exitcode(int(fields[_EXIT_STATUS]))


def threads(pid: int) -> list[int]:
    try:
        return sorted(int(name) for name in os.listdir(f"/proc/{pid}/task"))
    except OSError:
        return []


def has_runnable_thread(pid: int) -> bool:
    """One of its threads runs, or waits for a CPU."""
    return any((one := stat(pid, thread)) is not None and one.state == "R" for thread in threads(pid))


def children(pid: int) -> list[int]:
    """Of every thread: a loader that is forked by a thread is listed under that thread only."""
    pids: list[int] = []
    for thread in threads(pid):
        text = read(f"/proc/{pid}/task/{thread}/children")
        if text:
            pids += [int(word) for word in text.split()]
    return pids


def descendants(pid: int, *, without: int | None = None) -> list[int]:
    """Not `pid` itself; parents before their children. `without` is left out with all of its descendants."""
    pids: list[int] = []
    waiting = [pid]
    seen = {pid} if without is None else {pid, without}
    while waiting:
        for child in children(waiting.pop(0)):
            if child not in seen:
                seen.add(child)
                pids.append(child)
                waiting.append(child)
    return pids


def keyed(text: bytes | None) -> dict[str, int]:
    """Lines of ``name: 12 kB`` or ``name 12``; sizes in kB become bytes."""
    values: dict[str, int] = {}
    for line in (text or b"").splitlines():
        words = line.replace(b":", b" ", 1).split()
        if len(words) >= 2 and words[1].isdigit():
            values[words[0].decode(errors="replace")] = int(words[1]) * (1024 if words[2:3] == [b"kB"] else 1)
    return values


def status(pid: int) -> dict[str, int]:
    return keyed(read(f"/proc/{pid}/status"))


@dataclass(frozen=True, slots=True)
class ResidentMemory:
    """Without the pages of files, such as libraries: they are reclaimed when memory is short, and often shared."""

    now_bytes: int
    peak_bytes: int


def own_memory(proc: str = "/proc") -> ResidentMemory:
    """Of this process."""
    sizes = keyed(read(f"{proc}/self/status"))
    resident, files = sizes.get("VmRSS", 0), sizes.get("RssFile", 0)
    return ResidentMemory(resident - files, max(resident, sizes.get("VmHWM", 0)) - files)


def io(pid: int) -> dict[str, int]:
    return keyed(read(f"/proc/{pid}/io"))


def memory_parts(pid: int) -> dict[str, int]:
    """Pss, Private_Dirty and the rest. Expensive: walks all pages, and locks the memory map meanwhile."""
    return keyed(read(f"/proc/{pid}/smaps_rollup"))


def arguments(pid: int) -> list[str]:
    """The command's words; none of a kernel thread, or of a process that has ended.

    Between the moment when a started program replaces the one that started it and the moment when the kernel has laid
    out its arguments, the file is empty: a later look sees them, on a crowded machine not the next one.
    """
    for look in range(_LOOKS_AT_A_STARTING_PROGRAM):
        text = read(f"/proc/{pid}/cmdline")
        if text or text is None or not _has_program(pid):
            break
        if look >= _LOOKS_AT_ONE_THAT_WAITS and getattr(stat(pid), "state", "") == "S":
            break
        time.sleep(_STARTING_PROGRAM_S)
    return [word.decode(errors="replace") for word in text.rstrip(b"\0").split(b"\0")] if text else []


def _has_program(pid: int) -> bool:
    try:
        return bool(os.readlink(f"/proc/{pid}/exe"))
    except OSError:
        return False


def command_line(pid: int) -> str:
    return " ".join(arguments(pid)).strip()


def wait_channel(pid: int, thread: int) -> str:
    """Empty where the kernel does not say (some write "0")."""
    text = (read(f"/proc/{pid}/task/{thread}/wchan") or b"").decode(errors="replace")
    return "" if text == "0" else text


def open_files(pid: int) -> int | None:
    try:
        return len(os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return None


def catches(pid: int, signal_number: int) -> bool:
    """Whether the process has a handler for the signal."""
    for line in (read(f"/proc/{pid}/status") or b"").splitlines():
        if line.startswith(b"SigCgt:"):
            return bool(int(line.split()[1], 16) >> (signal_number - 1) & 1)
    return False


def processes_of_group(group: int) -> list[int]:
    """All processes of a process group. Reads every process of the machine: for the end of a run only."""
    pids = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            process = stat(int(name))
            if process is not None and process.group == group and process.state != "Z":
                pids.append(process.pid)
    return pids
