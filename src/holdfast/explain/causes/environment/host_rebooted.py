"""The machine restarted while it ran."""

from __future__ import annotations

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.unconverted import Fact, Finding, Remedy, Strength, going_on


@cause("host-rebooted", Group.ENVIRONMENT, specialises=("killed-from-outside",))
def host_rebooted(evidence: Evidence) -> Finding | None:
    if evidence.ended is not None or evidence.same_boot is not False:
        return None
    last = evidence.entries[-1] if evidence.entries else None
    facts = [
        Fact(
            "the machine's boot id is another one than when the run was opened",
            evidence.opened.source if evidence.opened is not None else "journal.jsonl",
        ),
        Fact(
            "no end was recorded: neither of the process nor of the supervisor",
            last.source if last is not None else "journal.jsonl",
        ),
    ]
    return Finding(
        "host-rebooted",
        Strength.SUPPORTED,
        "the machine restarted while it ran",
        tuple(facts),
        (Fact("another machine of the same name looks so too: a pod that was moved"),),
        (
            going_on(evidence)
            or Remedy(
                "start it again; it goes on from what the script saved, if it loads that", "your-choice"
            ),
            Remedy("look why: `journalctl -b -1 -e`; power, heat, an update", "your-choice"),
        ),
    )
