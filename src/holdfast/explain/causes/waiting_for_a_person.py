"""It waits for somebody to type or to close a window."""

from __future__ import annotations

import re

from holdfast.explain.evidence import Evidence
from holdfast.explain.finding import Fact, Finding, Remedy, Strength
from holdfast.explain.standing import Standing, Stands, Stood
from holdfast.explain.words import clipped


def waiting_for_a_person(evidence: Evidence) -> Finding | None:
    standing = evidence.standing
    if evidence.stall is None or standing is None:
        return None
    for process in (standing.process, *standing.others):
        for thread in process.threads:
            found = _waits(thread, process.trains)
            if found:
                return _finding(evidence, standing, process, thread, found)
    return None


def _waits(thread: Stood, trains: bool) -> str:
    terminal = re.search(r"n_tty_read|tty_read|wait_for_tty", thread.wait) or re.match(
        r"(read|pread64|poll|select|pselect6|ppoll)\b.*fd=0\b", thread.syscall
    )
    from_terminal = re.match(r"read\b.*\(/dev/(pts|tty)", thread.syscall)
    asks = thread.within("getpass", "_raw_input", "unix_getpass")
    debugger = thread.within("/pdb.py", "/bdb.py", "ipdb", "cmdloop", "code.interact")
    window = thread.within(
        "/matplotlib/backends", "start_main_loop", "/tkinter/", "mainloop", "PyQt", "PySide", "wx/core"
    )
    pipe_read = (thread.main and trains and "pipe_read" in thread.wait and not thread.syscall) or False
    if window is not None and not thread.busy:
        return "a window to be closed"
    if debugger is not None and not thread.busy:
        return "a command in the debugger"
    if from_terminal or terminal or (asks is not None and not thread.busy):
        return "an answer on standard input"
    own = thread.users
    if pipe_read and own is not None and "input(" in own.code:
        return "an answer on standard input"
    return ""


def _finding(evidence: Evidence, standing: Standing, process: Stands, thread: Stood, what: str) -> Finding:
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


PAGE = """\
What it is
  `input()`, a password prompt behind a progress bar, `plt.show()` in a
  callback, a forgotten `breakpoint()`. The process waits for ever and looks
  dead.

How Holdfast knows
  A thread stands in a read of standard input or a terminal, or inside a
  window's main loop or a debugger; your line is named.

How to make it happen
  `input("go on?")` in `on_epoch_end`.

How to cure it
  Ask for nothing in a run that nobody watches.
      import matplotlib
      matplotlib.use("Agg")

When Holdfast would be wrong
  If standard input is a pipe from a program that will answer later.
"""
