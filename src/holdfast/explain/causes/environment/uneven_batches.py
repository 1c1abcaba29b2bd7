"""One process of the group had fewer batches than the others."""

from holdfast.explain.causes.environment.process_ranks import is_group, one_was_killed, uneven
from holdfast.explain.readings.error import ErrorText, user_line
from holdfast.explain.readings.stacks import silence, stalled_threads
from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, Strength, Title, cause, ev, facts

_UNEVEN = ErrorText(
    r"(mismatch|different|uneven) (number of )?(batches|steps).*(rank|worker|process)|Inconsistent number "
    r"of (batches|steps)|collective.*(shape mismatch|aborted).*(OUT_OF_RANGE|End of sequence)|"
    r"stalled.*missing ranks|One or more tensors were submitted to be reduced"
)
#: What a process raises when another one of its group has gone, or does not come.
_PEER_GONE = ErrorText(
    r"Connection closed by peer|Connection reset by peer|Broken pipe|Gloo.*(timed out|failed|closed)|gloo/transport|"
    r"NCCL.*(timeout|error|remote process exited)|Watchdog caught collective|[Bb]arrier timed out|monitoredBarrier|"
    r"DEADLINE_EXCEEDED|coordination service|heartbeat timeout|Timed out waiting .*(recv|send|clients)"
)
_SHOWN = 4


@cause("uneven-batches", specialises=("script-error", "peer-missing"))
def uneven_batches(evidence: Evidence) -> Finding | None:
    quote = _UNEVEN.match(evidence)
    remarks = [one for one in evidence.all(ev.GroupRemark) if one.event.rank_steps]
    counted = [one for one in remarks[-1:] if len(set(one.event.rank_steps.values())) > 1]
    found = facts(
        quote and quote.fact,
        [one.fact("group.steps", by_rank=one.event.rank_steps) for one in counted],
        _apart(evidence),
    )
    title, remedies = Title("uneven-batches"), [Remedy("group.same-batches"), Remedy("group.join-uneven")]
    return Finding(Strength.SUPPORTED, title, found, remedies) if found else None


def _apart(evidence: Evidence) -> list[Fact]:
    """The processes were seen to have different numbers, and one misses another."""
    batches = uneven(evidence)
    if batches is None or not evidence.went_wrong or one_was_killed(evidence):
        return []
    quote = _PEER_GONE.match(evidence) if evidence.error is not None else None
    if quote is not None:
        return [batches, quote.fact, *user_line(evidence)]
    if not is_group(evidence):
        return []
    mains = stalled_threads(
        evidence, lambda one: one.main and one.users is not None and not one.joins_processes
    )
    places = [
        Fact("group.elsewhere", {"pid": one.process.pid, "where": one.thread.where}, one.reading.source)
        for one in mains[:_SHOWN]
    ]
    return [batches, *places, *silence(evidence)]
