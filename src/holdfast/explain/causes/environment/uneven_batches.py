"""One process of the group had fewer batches than the others."""

from holdfast.explain.readings.error import ErrorText
from holdfast.explain.rule import Evidence, Finding, Remedy, Strength, Title, cause, ev

_UNEVEN = ErrorText(
    r"(mismatch|different|uneven) (number of )?(batches|steps).*(rank|worker|process)|Inconsistent number "
    r"of (batches|steps)|collective.*(shape mismatch|aborted).*(OUT_OF_RANGE|End of sequence)|"
    r"stalled.*missing ranks|One or more tensors were submitted to be reduced"
)


@cause("uneven-batches", specialises=("script-error",))
def uneven_batches(evidence: Evidence) -> Finding | None:
    quote = _UNEVEN.match(evidence)
    remarks = [one for one in evidence.all(ev.GroupRemark) if one.event.rank_steps]
    uneven = [one for one in remarks[-1:] if len(set(one.event.rank_steps.values())) > 1]
    facts = [quote.fact] if quote is not None else []
    facts += [one.fact("group.steps", by_rank=one.event.rank_steps) for one in uneven]
    title, remedies = Title("uneven-batches"), [Remedy("group.same-batches")]
    return Finding(Strength.SUPPORTED, title, facts, remedies) if facts else None
