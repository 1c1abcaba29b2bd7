"""A write to standard output blocks: nobody reads it."""

from __future__ import annotations

import re

from holdfast.explain.evidence import Evidence
from holdfast.explain.finding import Fact, Finding, Remedy, Strength


def output_pipe_full(evidence: Evidence) -> Finding | None:
    standing = evidence.standing
    if evidence.stall is None or standing is None:
        return None
    for process in (standing.process, *standing.others):
        for thread in process.threads:
            writes = re.match(r"(write|writev|sendto|sendmsg)\b.*fd=(\d+) \((.*)\)", thread.syscall)
            blocked = (
                "pipe_write" in thread.wait
                or "pipe_wait_writable" in thread.wait
                or (writes is not None and "pipe" in writes[3] and thread.state == "S")
            )
            terminal = "tty_write" in thread.wait or "n_tty_write" in thread.wait
            number_ = int(writes[2]) if writes else None
            if not (blocked or terminal) or number_ not in (None, 1, 2):
                continue  # processes of a pool write to pipes of their own
            standard = number_ in (1, 2)
            where = f" at {thread.where}" if thread.where else ""
            facts = [
                Fact(
                    f"{'the main thread' if thread.main else 'a thread'} of {process.name or 'process'} "
                    f"{process.pid} stands in a write{where}: {thread.syscall or thread.wait}",
                    standing.source,
                )
            ]
            what = {1: "standard output", 2: "standard error"}.get(
                number_ or 0, "a terminal" if terminal else "a pipe"
            )
            return Finding(
                "output-pipe-full",
                Strength.ESTABLISHED if standard or terminal else Strength.SUPPORTED,
                f"a write to {what} blocks, because nobody reads it{where}",
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
    return None


PAGE = """\
What it is
  A pipe holds 64 KiB. A program that starts a child with `stdout=PIPE` and
  does not read lets the child stop in its next `print`. The starter is the
  cause. Holdfast itself reads its child's output all the time.

How Holdfast knows
  A thread stands in a write to a pipe or terminal, at the same place in
  every look.

How to make it happen
  `Popen(["python", "chatty.py"], stdout=PIPE).wait()`

How to cure it
  `communicate()`, a file, or a thread that reads.

When Holdfast would be wrong
  If the reader is merely slow and will come back.
"""
