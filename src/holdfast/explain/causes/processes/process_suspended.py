"""The process is suspended."""

from __future__ import annotations

from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, Strength, Title, cause, ev

_STOPPED = "T"  # the state in /proc


@cause("process-suspended", specialises=("callback-blocked", "input-blocked"))
def process_suspended(evidence: Evidence) -> Finding | None:
    change, pid = (
        evidence.last(ev.ChildStateChanged),
        evidence.samples[-1][1].pid if evidence.samples else None,
    )
    continued = change is not None and not change.event.state.upper().startswith(_STOPPED)
    sources = [change.source] if change is not None else []
    sources += [f"vitals.jsonl:{line}" for line, one in evidence.samples[-1:] if one.state == _STOPPED]
    sources += _stopped_in_stacks(evidence)
    ended_well = evidence.ended is not None and evidence.exit_code == 0
    if not sources or continued or ended_well:
        return None
    return Finding(
        Strength.ESTABLISHED,
        Title("process-suspended"),
        because=[Fact("process.stopped", {"pid": pid}, source) for source in sources[:1]],
        remedies=[Remedy("process.continue", {"pid": pid})],
    )


def _stopped_in_stacks(evidence: Evidence) -> list[str]:
    stacks = evidence.stacks
    if stacks is None or evidence.stall is None:
        return []
    states = [stacks.process.state, *(thread.state for thread in stacks.process.threads)]
    return [stacks.source] if _STOPPED in states else []
