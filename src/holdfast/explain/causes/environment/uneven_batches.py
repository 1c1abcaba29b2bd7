"""One process of the group had fewer batches than the others."""

from __future__ import annotations

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.unconverted import Fact, Finding, Remedy, Strength, matched
from holdfast.journal import events as ev


@cause("uneven-batches", Group.ENVIRONMENT, specialises=("script-error",))
def uneven_batches(evidence: Evidence) -> Finding | None:
    said = matched(
        evidence,
        r"(mismatch|different|uneven) (number of )?(batches|steps).*(rank|worker|process)|Inconsistent number "
        r"of (batches|steps)|collective.*(shape mismatch|aborted).*(OUT_OF_RANGE|End of sequence)|"
        r"stalled.*missing ranks|One or more tensors were submitted to be reduced",
    )
    apart = [one.event.rank_steps for one in evidence.all(ev.GroupRemark) if one.event.rank_steps]
    steps = apart[-1] if apart else {}
    uneven = len(set(steps.values())) > 1
    if said is None and not uneven:
        return None
    facts = [said[1]] if said is not None else []
    facts += [Fact(f"steps by process: {steps}", "journal.jsonl")] if uneven else []
    return Finding(
        "uneven-batches",
        Strength.SUPPORTED,
        "the processes of the group do not have the same number of batches",
        tuple(facts),
        (),
        (
            Remedy(
                "give every process the same number: drop the remainder, or repeat and count steps",
                "your-choice",
                "ds = ds.shard(n, i).repeat().batch(b, drop_remainder=True)   # and steps_per_epoch",
            ),
        ),
    )
