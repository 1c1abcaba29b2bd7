"""It waits for somebody to type or to close a window."""

from __future__ import annotations

import re

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.readings.stacks import ProcessState, StackReading, ThreadState
from holdfast.explain.unconverted import Fact, Finding, Remedy, Strength
from holdfast.explain.words import clipped
from holdfast.journal import events as ev


@cause(
    "waiting-for-a-person",
    Group.CONTROL,
    specialises=(
        "callback-blocked",
        "input-blocked",
    ),
)
def waiting_for_a_person(evidence: Evidence) -> Finding | None:
    standing = evidence.stacks
    if evidence.stall is None or standing is None:
        return None
    for process in (standing.process, *standing.others):
        for thread in process.threads:
            found = _waits(evidence, standing, process, thread)
            if found:
                return _finding(evidence, standing, process, thread, found)
    return None


def _waits(evidence: Evidence, standing: StackReading, process: ProcessState, thread: ThreadState) -> str:
    """Only the main thread of the trainer, or a program that it waits for, holds up the training by asking.

    A helper that reads its work from a pipe, a thread that listens for a key and a window beside the training wait for
    a person all day long. A debugger does not: whatever it has stopped was meant to run.
    """
    debugger = thread.within("/pdb.py", "/bdb.py", "ipdb", "cmdloop", "code.interact")
    if debugger is not None and not thread.busy:
        return "a command in the debugger"
    if process is not standing.process:
        return "an answer at the terminal" if _awaited(standing) and _at_terminal(thread) else ""
    if not thread.main:
        return ""
    window = thread.within(
        "/matplotlib/backends", "start_main_loop", "/tkinter/", "mainloop", "PyQt", "PySide", "wx/core"
    )
    if window is not None and not thread.busy:
        return "a window to be closed"
    asks = thread.within("getpass", "_raw_input", "unix_getpass")
    if _at_terminal(thread) or _at_own_input(evidence, standing, thread) or (asks and not thread.busy):
        return "an answer on standard input"
    own, pipe_read = thread.users, "pipe_read" in thread.wait and not thread.syscall
    return "an answer on standard input" if pipe_read and own is not None and "input(" in own.code else ""


def _awaited(standing: StackReading) -> bool:
    """Whether the training waits for a program that it started."""
    main = standing.main
    return main is not None and (
        main.syscall.startswith(("wait4", "waitid")) or main.within("/subprocess.py") is not None
    )


def _at_terminal(thread: ThreadState) -> bool:
    return bool(
        re.search(r"n_tty_read|tty_read|wait_for_tty", thread.wait)
        or re.match(r"read\b.*\(/dev/(pts|tty|console)", thread.syscall)
    )


def _at_own_input(evidence: Evidence, standing: StackReading, thread: ThreadState) -> bool:
    """Whether it reads the standard input that the command was given: below a launcher, the launcher holds it too."""
    reads = re.match(r"(?:read|pread64)\b.*fd=0 \((.*)\)", thread.syscall)
    started = evidence.last(ev.AttemptStarted)
    if reads is None or started is None or started.event.pid in (0, standing.process.pid):
        return reads is not None
    return any(one.pid == started.event.pid and reads[1] in one.reads for one in standing.others)


def _finding(
    evidence: Evidence, standing: StackReading, process: ProcessState, thread: ThreadState, what: str
) -> Finding:
    facts = [
        Fact(
            f"the {'main thread' if thread.main else 'thread ' + str(thread.tid)} of "
            f"{process.name or 'process'} {process.pid} stands in {thread.syscall or thread.wait}",
            standing.source,
        )
    ]
    place = ""
    if thread.users is not None:
        place = f" at {thread.users.file}:{thread.users.line}"
        facts.append(Fact(f"called from {thread.where}", standing.source))
    printed = evidence.output.lines[-1:] if evidence.output.lines else ()
    facts += [Fact(f"the last thing it printed: {clipped(line.text, 100)}", line.source) for line in printed]
    return Finding(
        "waiting-for-a-person",
        Strength.ESTABLISHED,
        f"it waits for {what}{place}",
        tuple(facts),
        (),
        (
            Remedy(
                "answer it, or start it so that nobody is asked",
                "your-choice",
                "holdfast run -- python train.py < /dev/null",
            ),
            Remedy(
                "for plots use a backend without windows",
                "your-choice",
                'matplotlib.use("Agg")   # and plt.savefig instead of plt.show',
            ),
        ),
    )
