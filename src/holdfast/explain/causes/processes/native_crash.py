"""It crashed in native code."""

import re

from holdfast.explain.readings.end import before_first_step
from holdfast.explain.rule import Evidence, Fact, Finding, Phase, Remedy, Strength, Title, cause
from holdfast.user_code import is_user_file

_FATAL = (
    r"Fatal Python error: (.+)|Check failed|terminate called|double free|malloc.*corrupt|"
    r"\*\*\* stack smashing|F\d{4} |core/.*Check failed"
)
_FRAME = re.compile(r'File "([^"]+)", line (\d+) in (\S+)')
#: A fault handler's stacks of all threads fit into so many of the last lines of the output.
_STACK_LINES = 200
#: Signals that a crash alone sends; SIGBUS and SIGILL have other causes too.
_CERTAIN = ("SIGSEGV", "SIGABRT", "SIGFPE")
#: Share of the memory limit below which memory is ruled out. Chosen; no measurement is recorded.
_FAR_FROM_LIMIT = 0.6


@cause("native-crash", breaks=True)
def native_crash(evidence: Evidence) -> Finding | None:
    if not evidence.crashed:
        return None
    signal, (where, source) = evidence.exit_signal, _user_line(evidence)
    outside = evidence.fatal is not None and not evidence.fatal.in_python
    dumped = {"signal": signal, "core_dumped": bool(evidence.end.core_dumped)}
    facts = [Fact("crash.signal", dumped, evidence.exit_source)]
    facts += _fatal(evidence)
    facts += [Fact("crash.user-line", {"where": where, "outside": outside}, source)] if where else []
    facts += before_first_step(evidence) if evidence.phase in (Phase.START, Phase.IMPORT, None) else ()
    limit, peak = evidence.memory_limit, evidence.growth.peak_bytes
    if limit is not None and 0 < peak < _FAR_FROM_LIMIT * limit.bytes:
        values = {"peak_bytes": peak, "limit_bytes": limit.bytes}
        facts.append(Fact("memory.far-from-limit", values, "vitals.jsonl"))
    strength = Strength.established_if(signal in _CERTAIN and not evidence.by_shell)
    title = Title("native-crash", {"signal": signal, "where": where, "outside": outside})
    look = Remedy("crash.look-at", {"line": where.partition(" in ")[0]})
    first = look if where else Remedy("crash.use-faulthandler")
    return Finding(strength, title, facts, [first, Remedy("crash.separate-libraries", safety="guess")])


def _fatal(evidence: Evidence) -> list[Fact]:
    """What the library or Python's fault handler printed last."""
    printed, fatal = evidence.output.last(_FATAL), evidence.fatal
    if printed is not None or fatal is None:
        return [printed.fact] if printed is not None else []
    values = {"what": fatal.what, "inside": fatal.inside, "outside": not fatal.in_python}
    return [Fact("crash.fatal", values, fatal.source)]


def _user_line(evidence: Evidence) -> tuple[str, str]:
    """The innermost line of the user's in the stack that Python's fault handler wrote or printed, and its source."""
    if evidence.fatal is not None and evidence.fatal.where:
        return evidence.fatal.where, evidence.fatal.source
    for line in evidence.output.lines[-_STACK_LINES:]:
        frame = _FRAME.search(line.text)
        if frame is not None and is_user_file(frame[1]):
            return f"{frame[1]}:{frame[2]} in {frame[3]}", line.source
    return "", ""
