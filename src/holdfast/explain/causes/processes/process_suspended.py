"""The process is suspended."""

from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, Strength, Title, cause, ev

_STOPPED = "T"  # the state in /proc


@cause("process-suspended", specialises=("callback-blocked", "input-blocked"))
def process_suspended(evidence: Evidence) -> Finding | None:
    change, stacks = evidence.last(ev.ChildStateChanged), evidence.stacks
    ended_well = evidence.ended is not None and evidence.exit_code == 0
    continued = change is not None and not change.event.state.upper().startswith(_STOPPED)
    if continued or ended_well:
        return None
    sources = [change.source] if change is not None else []
    sources += [f"vitals.jsonl:{line}" for line, one in evidence.samples[-1:] if one.state == _STOPPED]
    if stacks is not None and evidence.stall is not None:
        states = [stacks.process.state, *(thread.state for thread in stacks.process.threads)]
        sources += [stacks.source] if _STOPPED in states else []
    if not sources:
        return None
    values = {"pid": evidence.samples[-1][1].pid if evidence.samples else None}
    facts, remedies = [Fact("process.stopped", values, sources[0])], [Remedy("process.continue", values)]
    return Finding(Strength.ESTABLISHED, Title("process-suspended"), facts, remedies)
