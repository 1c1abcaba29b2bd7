"""The answer when no cause was found: what is known of the end, and what was looked for in vain."""

from __future__ import annotations

from holdfast.explain.evidence import Evidence
from holdfast.explain.finding import Fact, Finding, Outcome, Remedy, Strength, Title
from holdfast.explain.readings.end import end_seen, last_line
from holdfast.explain.readings.memory import at_the_end
from holdfast.explain.readings.stacks import silence
from holdfast.journal import events as ev


def unknown(evidence: Evidence, how: Outcome) -> Finding:
    if evidence.log:
        return Finding(
            Strength.POSSIBLE,
            Title("unknown.log", {"broke_off": evidence.ended is None}),
            (*end_seen(evidence), *last_line(evidence)),
            (Remedy("run.watch-it"),),
            against=(Fact("missing.end-words"),),
            cause="unknown",
        )
    facts = [*end_seen(evidence), *silence(evidence), *_main_thread(evidence), *last_line(evidence)]
    unseen = evidence.ended is None and how == Outcome.ENDED
    gone = evidence.beside and evidence.end_unknown
    return Finding(
        Strength.POSSIBLE,
        Title(
            "unknown.no-end" if unseen else "unknown.process-gone" if gone else "unknown", {"outcome": how}
        ),
        [*facts, *at_the_end(evidence)],
        [*_next(evidence), Remedy("unknown.send-the-folder")],
        against=[Fact(kind) for kind in _not_found(evidence)],
        cause="unknown",
    )


def _next(evidence: Evidence) -> list[Remedy]:
    stacks = evidence.stacks
    if evidence.beside and evidence.end_unknown:
        return [Remedy("unknown.process-gone")]
    if not evidence.attached:
        return [Remedy("unknown.shorter-limit", safety="guess")]
    if stacks is not None and not stacks.python_threads:
        return [Remedy("attach.read-stacks", {"error": stacks.process.error})]
    return [Remedy("run.watch-from-the-start")]


def _main_thread(evidence: Evidence) -> list[Fact]:
    main = evidence.stacks.main if evidence.stacks is not None else None
    if evidence.stacks is None or main is None or not main.where:
        return []
    return [Fact("stall.main-thread", {"where": main.where, "wait": main.wait}, evidence.stacks.source)]


def _not_found(evidence: Evidence) -> list[str]:
    missing = {
        "missing.exception": evidence.error is None,
        "missing.oom-kill": not evidence.oom_kills,
        "missing.probe": not (
            evidence.probed or evidence.attached or evidence.beside or evidence.all(ev.ProbeLeftOut)
        ),
        "missing.probe-attached": evidence.attached,
        "missing.stacks": evidence.stall is not None and evidence.stacks is None,
    }
    return [kind for kind, is_missing in missing.items() if is_missing]
