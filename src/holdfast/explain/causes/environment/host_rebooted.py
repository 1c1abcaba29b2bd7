"""The machine restarted while it ran."""

from __future__ import annotations

from holdfast.explain.remedies import resume
from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, Strength, Title, cause


@cause("host-rebooted", specialises=("killed-from-outside",))
def host_rebooted(evidence: Evidence) -> Finding | None:
    if evidence.ended is not None or evidence.same_boot is not False:
        return None
    opened = evidence.opened.source if evidence.opened is not None else "journal.jsonl"
    last = evidence.entries[-1].source if evidence.entries else "journal.jsonl"
    facts = [Fact("boot.changed", {}, opened), Fact("end.not-recorded", {}, last)]
    remedies = [resume(evidence) or Remedy("run.start-if-it-resumes"), Remedy("boot.find-out-why")]
    against = [Fact("boot.other-host")]
    return Finding(Strength.SUPPORTED, Title("host-rebooted"), facts, remedies, against=against)
