"""It hangs inside a callback."""

from __future__ import annotations

import re

from holdfast.explain.readings.stacks import StackReading, ThreadState, is_users, plain_name
from holdfast.explain.rule import Evidence, Fact, Finding, Phase, Remedy, Strength, Title, cause
from holdfast.journal.stack_files import Frame

_METHOD = re.compile(r"on_(train|test|predict|epoch|batch)\w*")


@cause("callback-blocked", mechanism=True)
def callback_blocked(evidence: Evidence) -> Finding | None:
    stall, stacks = evidence.stall, evidence.stacks
    if stall is None:
        return None
    main = stacks.main if stacks is not None else None
    method = _callback_frame(main)
    if evidence.phase is not Phase.CALLBACK and method is None:
        return None
    name = stall.event.callback or (method.function if method is not None else "")
    facts = [Fact("callback.stalled", {"callback": name, "seconds": evidence.silent_for_s}, stall.source)]
    line = None
    if main is not None and stacks is not None:
        line = main.users
        facts += _where(main, stacks)
    place = f"{line.file}:{line.line}" if line is not None else ""
    return Finding(
        Strength.ESTABLISHED if place else Strength.SUPPORTED,
        Title("callback-blocked", {"callback": name, "where": place}),
        because=facts,
        remedies=[Remedy("wait.set-timeout"), Remedy("callback.use-a-thread")],
    )


def _callback_frame(main: ThreadState | None) -> Frame | None:
    """The frame of a callback's method in the user's own code."""
    frames = main.frames if main is not None else ()
    return next((one for one in frames if _METHOD.match(plain_name(one)) and is_users(one.file)), None)


def _where(main: ThreadState, stacks: StackReading) -> list[Fact]:
    facts = []
    if main.users is not None:
        facts.append(Fact("thread.main-at", {"where": main.where}, stacks.source))
    if main.frames and main.frames[0] is not main.users:
        innermost = main.frames[0]
        values = {"function": innermost.function, "file": innermost.file, "line": innermost.line}
        facts.append(Fact("thread.innermost", values, stacks.source))
    waits = {"busy": main.busy, "wait": main.syscall or main.wait}
    return [*facts, Fact("thread.computes-or-waits", waits, stacks.source)]
