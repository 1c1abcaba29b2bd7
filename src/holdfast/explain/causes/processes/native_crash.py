"""It crashed in native code."""

from __future__ import annotations

import re
from typing import NamedTuple

from holdfast.explain.readings.end import before_first_step
from holdfast.explain.readings.output import clipped
from holdfast.explain.readings.stacks import is_users
from holdfast.explain.rule import Evidence, Fact, Finding, Phase, Remedy, Strength, Title, cause

_FATAL = (
    r"Fatal Python error: (.+)|Check failed|terminate called|double free|malloc.*corrupt|\*\*\* stack "
    r"smashing|F\d{4} |core/.*Check failed"
)
_FRAME = re.compile(r'File "([^"]+)", line (\d+) in (\S+)')
#: A fault handler's stacks of all threads fit into so many of the last lines of the output.
_STACK_LINES = 200
#: Signals that a crash alone sends; SIGBUS and SIGILL have other causes too.
_CERTAIN = ("SIGSEGV", "SIGABRT", "SIGFPE")
#: Share of the memory limit below which memory is ruled out. Chosen; no measurement is recorded.
_FAR_FROM_LIMIT = 0.6


class _Place(NamedTuple):
    where: str
    source: str


@cause("native-crash", breaks=True)
def native_crash(evidence: Evidence) -> Finding | None:
    if not evidence.crashed:
        return None
    place, fatal = _user_line(evidence), evidence.fatal
    outside = fatal is not None and not fatal.in_python
    facts = [_signal(evidence), *_fatal(evidence)]
    if place is not None:
        facts.append(Fact("crash.user-line", {"where": place.where, "outside": outside}, place.source))
    if evidence.phase in (Phase.START, Phase.IMPORT, None):
        facts += before_first_step(evidence)
    facts += _memory(evidence)
    where = place.where if place is not None else ""
    values = {"signal": evidence.exit_signal, "where": where, "outside": outside}
    look = Remedy("crash.look-at", {"line": where.partition(" in ")[0]})
    certain = evidence.exit_signal in _CERTAIN and not evidence.by_shell
    return Finding(
        Strength.ESTABLISHED if certain else Strength.SUPPORTED,
        Title("native-crash", values),
        because=facts,
        remedies=[
            look if where else Remedy("crash.use-faulthandler"),
            Remedy("crash.separate-libraries", safety="guess"),
        ],
    )


def _signal(evidence: Evidence) -> Fact:
    dumped = evidence.ended is not None and bool(evidence.ended.event.core_dumped)
    return Fact("crash.signal", {"signal": evidence.exit_signal, "core_dumped": dumped}, evidence.exit_source)


def _fatal(evidence: Evidence) -> list[Fact]:
    """What the library or Python's fault handler printed last."""
    printed, fatal = evidence.output.last(_FATAL), evidence.fatal
    if printed is not None:
        return [Fact("error.quoted", {"text": clipped(printed.text)}, printed.source)]
    if fatal is None:
        return []
    values = {"what": fatal.what, "inside": fatal.inside, "outside": not fatal.in_python}
    return [Fact("crash.fatal", values, fatal.source)]


def _memory(evidence: Evidence) -> list[Fact]:
    limit, peak = evidence.memory_limit, evidence.growth.peak_bytes
    if limit is None or not peak or peak >= _FAR_FROM_LIMIT * limit.bytes:
        return []
    return [Fact("memory.far-from-limit", {"peak_bytes": peak, "limit_bytes": limit.bytes}, "vitals.jsonl")]


def _user_line(evidence: Evidence) -> _Place | None:
    """The innermost line of the user's in the stack that Python's fault handler wrote or printed."""
    if evidence.fatal is not None and evidence.fatal.where:
        return _Place(evidence.fatal.where, evidence.fatal.source)
    for line in evidence.output.lines[-_STACK_LINES:]:
        frame = _FRAME.search(line.text)
        if frame is not None and is_users(frame[1]):
            return _Place(f"{frame[1]}:{frame[2]} in {frame[3]}", line.source)
    return None
