"""The machine restarted while it ran, or a node of the job was lost."""

from holdfast.explain.causes.environment import scheduler_answer
from holdfast.explain.remedies import resume
from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, Strength, Title, cause, ev


@cause("host-rebooted", specialises=("killed-from-outside",))
def host_rebooted(evidence: Evidence) -> Finding | None:
    if scheduler_answer.why(evidence) == "node-failed":
        return _node_lost(evidence)
    if evidence.ended is not None or evidence.same_boot is not False:
        return None
    if evidence.log:
        because = (Fact("end.printed", {"text": evidence.end_text}, evidence.log),)
        return Finding(Strength.SUPPORTED, Title("host-rebooted"), because, remedies=_AGAIN)
    opened = evidence.opened.source if evidence.opened is not None else "journal.jsonl"
    last = evidence.entries[-1].source if evidence.entries else "journal.jsonl"
    facts = [Fact("boot.changed", {}, opened), Fact("end.not-recorded", {}, last)]
    remedies = [resume(evidence) or _AGAIN[0], *_AGAIN[1:]]
    against = [Fact("boot.other-host")]
    return Finding(Strength.SUPPORTED, Title("host-rebooted"), facts, remedies, against=against)


def _node_lost(evidence: Evidence) -> Finding:
    """The scheduler itself says so."""
    nodes = list(evidence.seen(ev.SchedulerAnswered).failed_nodes)
    title = Title("host-rebooted.node-failed", {"nodes": nodes})
    remedies = [resume(evidence) or _AGAIN[0], Remedy("scheduler.look-at-the-node", {"nodes": nodes})]
    return Finding(Strength.ESTABLISHED, title, scheduler_answer.facts_of(evidence), remedies)


_AGAIN = (Remedy("run.start-if-it-resumes"), Remedy("boot.find-out-why"))
