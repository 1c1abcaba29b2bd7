"""No further thread or process may be started."""

from __future__ import annotations

from holdfast.explain.readings.error import ErrorText
from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, Strength, Title, cause, ev

_REFUSED = ErrorText(
    r"pthread_create\(?\)? failed|can't start new thread|Thread \S+ creation via pthread_create|(fork|"
    r"clone).*Resource temporarily unavailable|Resource temporarily unavailable.*(fork|thread)|"
    r"BlockingIOError.*fork"
)


@cause("thread-limit", specialises=("script-error", "native-crash"))
def thread_limit(evidence: Evidence) -> Finding | None:
    quote, counted = _REFUSED.match(evidence), _counter_rose(evidence)
    if not evidence.went_wrong or (quote is None and not (counted and evidence.crashed)):
        return None
    machine = evidence.last(ev.MachineRead)
    limits = machine.event.rlimits if machine is not None else {}
    facts = [quote.fact] if quote is not None else []
    facts += [Fact("limit.threads-refused", {}, evidence.exit_source)] if counted else []
    facts += [*_limits(evidence), *_threads(evidence)]
    memory = machine is not None and bool(limits.get("as") or limits.get("data")) and not counted
    against = (Fact("limit.address-space-set", {}, machine.source),) if machine and memory else ()
    return Finding(
        Strength.POSSIBLE if memory else Strength.ESTABLISHED,
        Title("thread-limit.or-memory") if memory else Title("thread-limit"),
        because=facts,
        against=against,
        remedies=[Remedy("limit.raise-threads"), Remedy("threads.use-fewer")],
    )


def _counter_rose(evidence: Evidence) -> bool:
    """The kernel's counter of refused processes and threads rose."""
    ended = evidence.ended.event if evidence.ended is not None else None
    if ended is None or ended.pids_refused_before is None:
        return False
    return (ended.pids_refused_after or 0) > ended.pids_refused_before


def _limits(evidence: Evidence) -> list[Fact]:
    machine = evidence.last(ev.MachineRead)
    if machine is None:
        return []
    cgroup, user = machine.event.pids_limit, machine.event.rlimits.get("nproc")
    facts = [Fact("limit.pids", {"limit": cgroup}, machine.source)] if cgroup else []
    return facts + ([Fact("limit.user-processes", {"limit": user}, machine.source)] if user else [])


def _threads(evidence: Evidence) -> list[Fact]:
    return [
        Fact(
            "threads.counted",
            {"threads": sample.threads + sum(process.threads for process in sample.processes)},
            f"vitals.jsonl:{line}",
        )
        for line, sample in evidence.samples[-1:]
    ]
