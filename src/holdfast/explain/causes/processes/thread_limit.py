"""No further thread or process may be started."""

from holdfast.explain.readings.error import ErrorText, user_line
from holdfast.explain.readings.limits import cannot_start, pids_refused, rlimit
from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, Strength, Title, cause, ev

_REFUSED = ErrorText(
    r"pthread_create\(?\)? failed|can't start new thread|Thread \S+ creation via pthread_create|"
    r"(fork|clone).*Resource temporarily unavailable|Resource temporarily unavailable.*(fork|thread)|"
    r"BlockingIOError.*fork"
)


@cause("thread-limit", specialises=("script-error", "native-crash"))
def thread_limit(evidence: Evidence) -> Finding | None:
    quote, counted = _REFUSED.match(evidence), pids_refused(evidence)
    known = quote is not None or (counted and evidence.crashed) or cannot_start(evidence)
    if not evidence.went_wrong or not known:
        return None
    facts = [quote.fact] if quote is not None else [*user_line(evidence)]
    facts += [Fact("limit.threads-refused", {}, evidence.exit_source)] if counted else []
    facts += [*_limits(evidence), *_threads(evidence)]
    remedies = [Remedy("limit.raise-threads"), Remedy("threads.use-fewer")]
    memory = rlimit(evidence, "as") or rlimit(evidence, "data")
    if memory is None or counted:
        return Finding(Strength.ESTABLISHED, Title("thread-limit"), facts, remedies)
    against = [Fact("limit.address-space-set", {}, memory.source)]
    return Finding(Strength.POSSIBLE, Title("thread-limit.or-memory"), facts, remedies, against=against)


def _limits(evidence: Evidence) -> list[Fact]:
    machine, user = evidence.last(ev.MachineRead), rlimit(evidence, "nproc")
    cgroup = machine.event.pids_limit if machine is not None else None
    facts = [Fact("limit.pids", {"limit": cgroup}, machine.source)] if machine is not None and cgroup else []
    return facts + ([Fact("limit.user-processes", {"limit": user.value}, user.source)] if user else [])


def _threads(evidence: Evidence) -> list[Fact]:
    counts = [
        (line, sample.threads + sum(process.threads for process in sample.processes))
        for line, sample in evidence.samples[-1:]
    ]
    return [Fact("threads.counted", {"threads": count}, f"vitals.jsonl:{line}") for line, count in counts]
