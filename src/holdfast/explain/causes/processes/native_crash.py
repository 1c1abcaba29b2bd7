"""It crashed in native code."""

from __future__ import annotations

import re

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.readings.stacks import is_users
from holdfast.explain.unconverted import Fact, Finding, Remedy, Strength
from holdfast.explain.words import clipped, size
from holdfast.journal.beats import Phase


@cause("native-crash", Group.PROCESSES, breaks=True)
def native_crash(evidence: Evidence) -> Finding | None:
    if not evidence.crashed:
        return None
    facts = [
        Fact(
            f"it ended on {evidence.exit_signal}"
            + (
                ", with a core dump"
                if evidence.ended is not None and evidence.ended.event.core_dumped
                else ""
            ),
            evidence.exit_source,
        )
    ]
    fatal = evidence.output.last(
        r"Fatal Python error: (.+)|Check failed|terminate called|double free|malloc.*corrupt|\*\*\* stack "
        r"smashing|F\d{4} |core/.*Check failed"
    )
    if fatal is not None:
        facts.append(Fact(clipped(fatal.text, 200), fatal.source))
    elif evidence.fatal is not None:
        inside = f" in {evidence.fatal.inside}" if evidence.fatal.inside else ""
        if not evidence.fatal.in_python:
            inside = " in a thread of a library, outside of Python"
        facts.append(Fact(f"{evidence.fatal.what}{inside}", evidence.fatal.source))
    place, source = _place(evidence)
    native = evidence.fatal is not None and not evidence.fatal.in_python
    if place:
        stood = "the main thread was at" if native else "the Python stack ends at"
        facts.append(Fact(f"{stood} {place}", source))
    importing = evidence.phase in (Phase.START, Phase.IMPORT, None) and not evidence.step
    if importing:
        facts.append(Fact("before any training step, at import or the first call", "beats"))
    limit = evidence.memory_limit
    if limit and evidence.growth.peak_bytes and evidence.growth.peak_bytes < 0.6 * limit[0]:
        facts.append(
            Fact(
                f"memory was far from its limit: {size(evidence.growth.peak_bytes)} of {size(limit[0])}",
                "vitals.jsonl",
            )
        )
    return Finding(
        "native-crash",
        Strength.ESTABLISHED
        if evidence.exit_signal in ("SIGSEGV", "SIGABRT", "SIGFPE") and not evidence.by_shell
        else Strength.SUPPORTED,
        f"it crashed in native code ({evidence.exit_signal})"
        + (f" while {place} ran" if place and native else f" at {place}" if place else ""),
        tuple(facts),
        (),
        (
            Remedy(
                f"look at what {place.partition(' in ')[0]} calls",
                "your-choice",
                "gdb -ex run -ex bt --args python train.py",
            )
            if place
            else Remedy(
                "see where: run with the fault handler", "your-choice", "python -X faulthandler train.py"
            ),
            Remedy(
                "two libraries with copies of one runtime clash: import TensorFlow first, and leave out cv2, "
                "torch or others in turn",
                "guess",
            ),
        ),
    )


def _place(evidence: Evidence) -> tuple[str, str]:
    """The innermost line of the user's in the stack that Python's fault handler wrote or printed."""
    if evidence.fatal is not None and evidence.fatal.where:
        return evidence.fatal.where, evidence.fatal.source
    frames = [
        (re.search(r'File "([^"]+)", line (\d+) in (\S+)', line.text), line)
        for line in evidence.output.lines[-200:]
    ]
    own = [(found, line) for found, line in frames if found is not None and is_users(found[1])]
    if not own:
        return "", ""
    found, line = own[0]
    return f"{found[1]}:{found[2]} in {found[3]}", line.source
