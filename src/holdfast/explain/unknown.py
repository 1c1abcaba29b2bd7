"""The answer when no cause was found: what is known of the end, and what was looked for in vain."""

from __future__ import annotations

from holdfast.explain.evidence import Evidence
from holdfast.explain.finding import Fact, Finding, Outcome, Remedy, Strength, Title
from holdfast.explain.readings.memory import at_the_end


def unknown(evidence: Evidence, how: Outcome) -> Finding:
    facts = [*_end(evidence), *_stall(evidence)]
    facts += [
        Fact("output.last-line", {"text": line.text}, line.source) for line in evidence.output.lines[-1:]
    ]
    return Finding(
        Strength.POSSIBLE,
        Title("unknown", {"outcome": how}),
        (*facts, *at_the_end(evidence)),
        tuple(Fact(kind) for kind in _not_found(evidence)),
        (Remedy("unknown.shorter-limit", safety="guess"), Remedy("unknown.send-the-folder")),
        cause="unknown",
    )


def _end(evidence: Evidence) -> list[Fact]:
    if evidence.ended is None:
        return []
    values = {"signal": evidence.exit_signal, "exit_code": evidence.exit_code}
    return [Fact("end.seen", values, evidence.exit_source)]


def _stall(evidence: Evidence) -> list[Fact]:
    facts = []
    if evidence.stall is not None:
        values = {"seconds": evidence.silent_for_s, "phase": evidence.stall.event.phase or "unknown"}
        facts.append(Fact("stall.silent", values, evidence.stall.source))
    main = evidence.stacks.main if evidence.stacks is not None else None
    if main is not None and main.where and evidence.stacks is not None:
        facts.append(
            Fact("stall.main-thread", {"where": main.where, "wait": main.wait}, evidence.stacks.source)
        )
    return facts


def _not_found(evidence: Evidence) -> list[str]:
    missing = {
        "missing.exception": evidence.error is None,
        "missing.oom-kill": not evidence.oom_kills,
        "missing.probe": not evidence.probed,
        "missing.stacks": evidence.stall is not None and evidence.stacks is None,
    }
    return [kind for kind, is_missing in missing.items() if is_missing]
