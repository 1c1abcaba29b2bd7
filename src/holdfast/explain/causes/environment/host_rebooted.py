"""The machine restarted while it ran."""

from holdfast.explain.remedies import resume
from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, Strength, Title, cause


@cause("host-rebooted", specialises=("killed-from-outside",))
def host_rebooted(evidence: Evidence) -> Finding | None:
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


_AGAIN = (Remedy("run.start-if-it-resumes"), Remedy("boot.find-out-why"))
