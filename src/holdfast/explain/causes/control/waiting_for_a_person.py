"""It waits for somebody to type or to close a window."""

import enum
import re

from holdfast.explain.readings.end import last_line
from holdfast.explain.readings.stacks import StackReading, StalledThread, ThreadState, stalled_threads
from holdfast.explain.rule import Evidence, Finding, Remedy, Strength, Title, cause, ev, facts

_DEBUGGER = ("/pdb.py", "/bdb.py", "ipdb", "cmdloop", "code.interact")
_WINDOW = ("/matplotlib/backends", "start_main_loop", "/tkinter/", "mainloop", "PyQt", "PySide", "wx/core")
_PROMPT = ("getpass", "_raw_input", "unix_getpass")


class AwaitedInput(enum.StrEnum):
    DEBUGGER = "debugger"
    TERMINAL = "terminal"
    WINDOW = "window"
    STANDARD_INPUT = "standard-input"


@cause("waiting-for-a-person", specialises=("callback-blocked", "input-blocked"))
def waiting_for_a_person(evidence: Evidence) -> Finding | None:
    remedies = (Remedy("input.answer-or-close"), Remedy("plot.without-windows"))
    for stalled in stalled_threads(evidence, lambda thread: True):
        awaited = _awaited_input(evidence, stalled)
        if awaited is not None:
            values = {"awaited": awaited, "where": stalled.thread.users_file_line}
            seen = facts(stalled.fact, last_line(evidence))
            return Finding(Strength.ESTABLISHED, Title("waiting-for-a-person", values), seen, remedies)
    return None


def _awaited_input(evidence: Evidence, stalled: StalledThread) -> AwaitedInput | None:
    """Only the main thread of the trainer, or a program that it waits for, blocks the training by asking.

    A helper that reads its work from a pipe, a thread that listens for a key and a window next to the training wait for
    a person all day long. A debugger does not: whatever it has stopped was meant to run.
    """
    thread, stacks = stalled.thread, stalled.reading
    if thread.within(*_DEBUGGER) is not None and not thread.busy:
        return AwaitedInput.DEBUGGER
    if not stalled.trains:
        asks = _trainer_waits_for_program(stacks) and _reads_terminal(thread)
        return AwaitedInput.TERMINAL if asks else None
    if not thread.main:
        return None
    if thread.within(*_WINDOW) is not None and not thread.busy:
        return AwaitedInput.WINDOW
    prompts = thread.within(*_PROMPT) is not None and not thread.busy
    reads = _reads_terminal(thread) or _reads_own_input(evidence, stacks, thread) or _calls_input(thread)
    return AwaitedInput.STANDARD_INPUT if prompts or reads else None


def _trainer_waits_for_program(stacks: StackReading) -> bool:
    main = stacks.main
    if main is None:
        return False
    return main.syscall.startswith(("wait4", "waitid")) or main.within("/subprocess.py") is not None


def _reads_terminal(thread: ThreadState) -> bool:
    in_kernel = re.search(r"n_tty_read|tty_read|wait_for_tty", thread.wait)
    return bool(in_kernel or re.match(r"read\b.*\(/dev/(pts|tty|console)", thread.syscall))


def _reads_own_input(evidence: Evidence, stacks: StackReading, thread: ThreadState) -> bool:
    """Whether it reads the standard input of the command: below a launcher, the launcher has it open too."""
    # A FIFO with a name is no person's.
    reads = re.match(r"(?:read|pread64)\b.*fd=0 \((?!/)(.*)\)", thread.syscall)
    started = evidence.last(ev.AttemptStarted)
    if reads is None or started is None or started.event.pid in (0, stacks.process.pid):
        return reads is not None
    return any(one.pid == started.event.pid and reads[1] in one.reads for one in stacks.others)


def _calls_input(thread: ThreadState) -> bool:
    line, in_pipe = thread.users, "pipe_read" in thread.wait and not thread.syscall
    return in_pipe and line is not None and "input(" in line.code
