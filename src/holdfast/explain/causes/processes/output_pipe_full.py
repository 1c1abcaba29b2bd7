"""A write to standard output blocks: nobody reads it."""

import enum
import re

from holdfast.explain.readings.stacks import ProcessState, StalledThread, stalled_threads
from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, Strength, Title, cause

_WRITE = re.compile(r"(write|writev|sendto|sendmsg)\b.*fd=(\d+) \((.*)\)")
_PIPE_WAIT = re.compile(r"pipe_write|pipe_wait_writable")


class WriteTo(enum.StrEnum):
    STDOUT = "stdout"
    STDERR = "stderr"
    TERMINAL = "terminal"
    PIPE = "pipe"


@cause("output-pipe-full", specialises=("callback-blocked", "input-blocked"))
def output_pipe_full(evidence: Evidence) -> Finding | None:
    for blocked in stalled_threads(evidence, lambda thread: True):
        to, pipe = _blocked_write(blocked)
        reader = _reader(blocked, pipe)
        if to is not None and (to is not WriteTo.PIPE or _is_users_own(blocked, reader)):
            return _finding(blocked, to, reader)
    return None


def _blocked_write(blocked: StalledThread) -> tuple[WriteTo | None, str]:
    """What a thread writes to, where that blocks, and the pipe: "pipe:[77]", "" where it could not be read."""
    thread = blocked.thread
    call = _WRITE.match(thread.syscall)
    number, file = (call[2], call[3]) if call is not None else ("", "")
    in_pipe = _PIPE_WAIT.search(thread.wait) is not None or ("pipe" in file and thread.state == "S")
    in_terminal = "tty_write" in thread.wait
    if not (in_pipe or in_terminal):
        return None, ""
    by_number = {"1": WriteTo.STDOUT, "2": WriteTo.STDERR}
    return by_number.get(number, WriteTo.TERMINAL if in_terminal else WriteTo.PIPE), file


def _reader(blocked: StalledThread, pipe: str) -> ProcessState | None:
    """The process that has the other end, and could read it."""
    processes = (blocked.reading.process, *blocked.reading.others)
    others = [one for one in processes if one.pid != blocked.process.pid]
    readers = [one for one in others if pipe in one.reads]
    return next((one for one in readers if one.makes_pipes), readers[0] if readers else None)


def _is_users_own(blocked: StalledThread, reader: ProcessState | None) -> bool:
    """A pipe that the user's own line writes to. Pools have pipes of their own, and block in them as a symptom."""
    thread = blocked.thread
    call_unknown = "write" not in thread.syscall and thread.users is not None
    in_pool = thread.within("multiprocessing/", "concurrent/") is not None
    return (call_unknown or reader is not None) and blocked.trains and not in_pool and thread.python


def _finding(blocked: StalledThread, to: WriteTo, reader: ProcessState | None) -> Finding:
    source, facts = blocked.reading.source, [blocked.fact]
    if reader is not None:
        where = reader.main.where if reader.main is not None else ""
        values = {"pid": reader.pid, "command": reader.command or reader.name, "where": where}
        facts.append(Fact("pipe.not-read", values, source))
    maker = reader if reader is not None and reader.makes_pipes else blocked.process
    made_at = list(maker.makes_pipes)
    facts += [Fact("pipe.made", {"lines": made_at}, source)] if made_at else []
    strength = Strength.established_if(to is not WriteTo.PIPE or reader is not None)
    made = made_at[0] if made_at else ""
    title = Title("output-pipe-full", {"to": to, "where": blocked.thread.users_line, "made_at": made})
    return Finding(strength, title, facts, [Remedy("pipe.read-or-use-a-file"), Remedy("pipe.communicate")])
