"""The kernel killed the process, or one of its loader processes, because memory ran out."""

import re

from holdfast.explain.evidence import LimitSetBy
from holdfast.explain.readings.end import KERNEL_LOG, end_seen
from holdfast.explain.readings.memory import at_the_end, growth_seen, near_the_limit, oom_kills, peak_bytes
from holdfast.explain.readings.workers import worker_ended
from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, RuledOut, Strength, Title, cause, ev

#: "Out of memory: Killed process 4000", "oom-kill:constraint=…", "invoked oom-killer"; not "illegal", not "filled".
_KILL = re.compile(r"\bkill", re.IGNORECASE)
#: Share of the group's limit, in the last sample, that counts as full. Chosen: samples are a second apart.
_FULL = 0.95
_REMEDIES = (Remedy("memory.more-or-need-less"), Remedy("report.open", safety="automatic"))


@cause("killed-for-memory", specialises=("killed-from-outside",), mechanism=True)
def killed_for_memory(evidence: Evidence) -> Finding | RuledOut | None:
    if _all_at_once(evidence):
        return _all_killed(evidence)
    counted, printed = (evidence.oom_kills or 0) > 0, evidence.oom_printed
    if evidence.exit_signal != "SIGKILL" or evidence.stopped_by_us or evidence.oom_of_others:
        return _worker_killed(evidence) if counted or printed else None
    logged = [line for line in evidence.kernel_log if _KILL.search(line)]
    if evidence.oom_kills == 0 and not logged:
        return RuledOut("killed-for-memory.not-counted", {}, evidence.exit_source)
    near = near_the_limit(evidence) or printed
    strength = Strength.ESTABLISHED if counted or logged else Strength.supported_if(near)
    facts = [*end_seen(evidence), *([oom_kills(evidence)] if counted else [])]
    source = KERNEL_LOG if evidence.log else evidence.exit_source
    facts += [Fact("kernel.logged", {"line": line}, source) for line in logged[-1:]]
    facts += [*at_the_end(evidence), *growth_seen(evidence)]
    limit = evidence.memory_limit.bytes if evidence.memory_limit is not None else None
    title = Title("killed-for-memory", {"peak_bytes": peak_bytes(evidence), "limit_bytes": limit})
    against = [oom_kills(evidence)] if strength == Strength.POSSIBLE else ()
    return Finding(strength, title, facts, _REMEDIES, against=against)


def _all_at_once(evidence: Evidence) -> bool:
    """The supervisor went with the rest, as where the kernel ends a whole group: a container over its limit."""
    if evidence.ended is not None or evidence.log or evidence.attached or evidence.beside:
        return False
    if evidence.seen(ev.SchedulerAnswered).why == "out-of-memory":
        return True
    of_group = evidence.memory_limit is not None and evidence.memory_limit.set_by == LimitSetBy.CGROUP
    gone = evidence.alive is False and evidence.same_boot is not False
    return gone and of_group and near_the_limit(evidence, _FULL) and evidence.last(ev.SignalReceived) is None


def _all_killed(evidence: Evidence) -> Finding:
    last = evidence.entries[-1].source if evidence.entries else "journal.jsonl"
    facts = [Fact("end.not-recorded", {}, last), *at_the_end(evidence), *growth_seen(evidence)]
    limit = evidence.memory_limit.bytes if evidence.memory_limit is not None else None
    return Finding(
        Strength.SUPPORTED, Title("killed-for-memory.all", {"limit_bytes": limit}), facts, _REMEDIES
    )


def _worker_killed(evidence: Evidence) -> Finding:
    gone = [one for one in evidence.all(ev.WorkerGone) if one.event.oom_kills_rose]
    said = end_seen(evidence) if evidence.oom_printed else [oom_kills(evidence)]
    facts = [*said, *(worker_ended(one) for one in gone[-2:]), *at_the_end(evidence)]
    harmed = evidence.is_stalled or evidence.went_wrong
    blamed = Strength.established_if(gone)
    strength = blamed if harmed else Strength.POSSIBLE
    title = Title("killed-for-memory.worker", {"stalled": evidence.is_stalled})
    led_to = "worker-died" if gone else None
    return Finding(strength, title, facts, _REMEDIES, led_to=led_to, ends=harmed)
