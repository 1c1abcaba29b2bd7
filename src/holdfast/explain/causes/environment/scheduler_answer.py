"""What the scheduler said of a job, in facts."""

from __future__ import annotations

from holdfast.explain.evidence import Evidence
from holdfast.explain.finding import Fact
from holdfast.explain.readings.recorded import Recorded
from holdfast.journal import events as ev

_NAMES = {"slurm": "SLURM", "kubernetes": "Kubernetes"}
#: Decisions of a scheduler about the job; memory, a lost node and somebody's SIGTERM are none.
DECISIONS = ("time-limit", "preempted", "requeued", "cancelled", "evicted")


def answer(evidence: Evidence) -> Recorded[ev.SchedulerAnswered] | None:
    """The last one of this attempt."""
    return evidence.last(ev.SchedulerAnswered)


def why(evidence: Evidence) -> str:
    return evidence.seen(ev.SchedulerAnswered).why


def facts_of(evidence: Evidence) -> list[Fact]:
    said = answer(evidence)
    if said is None:
        return []
    event = said.event
    name = _NAMES.get(event.scheduler, event.scheduler)
    limit_s = event.ends_at - said.at if event.ends_at is not None and event.why == "time-limit" else None
    facts = [
        said.fact("scheduler.answered", scheduler=name, job=event.job, state=event.state, left_s=limit_s)
    ]
    return facts + [
        said.fact("scheduler.node-failed", node=node, state=state)
        for node, state in event.failed_nodes.items()
    ]
