"""Somebody or something sent SIGKILL, and it was not the kernel for memory."""

from typing import Any

from holdfast.explain.pass_without_steps import was_stuck
from holdfast.explain.readings.end import end_seen
from holdfast.explain.readings.limits import rlimit
from holdfast.explain.readings.memory import at_the_end, near_the_limit, oom_kills
from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, Strength, Title, cause, ev

#: Signals that schedulers send before the time of a job is over; unhandled, they end a program.
_WARNINGS = ("SIGUSR1", "SIGUSR2")
#: Share of the CPU-time limit at which it counts as used up. Chosen: below all of it, because the limit is in whole
#: seconds and the time of the end is measured by another counter.
_USED_UP = 0.95
_FIND_THE_SENDER = (Remedy("signal.find-the-sender"), Remedy("run.let-it-restart"))
_END_WHAT_IS_LEFT = (Remedy("wrapper.exec"), Remedy("process.end-what-is-left"))


@cause("killed-from-outside", breaks=True)
def killed_from_outside(evidence: Evidence) -> Finding | None:
    if evidence.own_signal is not None or evidence.stopped_by_us:
        return None
    signal, end, cpu_time = evidence.exit_signal, end_seen(evidence), _cpu_time(evidence)
    if signal in _WARNINGS:
        values = {"signal": signal}
        title, remedy = Title("killed-from-outside.warned", values), Remedy("signal.handle", values)
        return Finding(Strength.ESTABLISHED, title, [*end, *cpu_time], [remedy])
    if signal == "SIGXCPU":
        return _out_of_cpu_time(*end, *cpu_time)
    if signal != "SIGKILL" or (evidence.oom_kills or 0) > 0 or evidence.oom_ended:
        return None
    counted = [oom_kills(evidence)] if evidence.oom_kills == 0 else []
    facts = [*end, *counted, *at_the_end(evidence)]
    if cpu_time:
        return _out_of_cpu_time(*facts, *cpu_time)
    title, remedies = Title("killed-from-outside"), _FIND_THE_SENDER
    if left := _left_running(evidence):
        title, remedies = Title("killed-from-outside.training-left", left[0]), _END_WHAT_IS_LEFT
    facts += [Fact("process.left-running", values, evidence.exit_source) for values in left[:2]]
    strength, against = _strength(evidence), () if counted else [oom_kills(evidence)]
    return Finding(strength, title, facts, remedies, against=against, ends=not was_stuck(evidence))


def _out_of_cpu_time(*facts: Fact) -> Finding:
    remedies = [Remedy("limit.raise-cpu-time"), Remedy("checkpoint.save-often")]
    return Finding(Strength.ESTABLISHED, Title("killed-from-outside.cpu-time"), facts, remedies)


def _strength(evidence: Evidence) -> Strength:
    if was_stuck(evidence):
        return Strength.POSSIBLE
    near = near_the_limit(evidence)
    if evidence.oom_kills == 0:
        # Without the probe nobody saw whether it sent the signal itself.
        return Strength.SUPPORTED if near or not evidence.probed else Strength.ESTABLISHED
    return Strength.POSSIBLE if near or not evidence.samples else Strength.SUPPORTED


def _cpu_time(evidence: Evidence) -> list[Fact]:
    """The CPU time that it used, where that is all it was given: at the hard limit the kernel sends SIGKILL."""
    limit = rlimit(evidence, "cpu")
    used_s = (evidence.end.user_s or 0.0) + (evidence.end.system_s or 0.0)
    if limit is None or used_s < _USED_UP * limit.value:
        return []
    return [Fact("limit.cpu-time", {"used_s": used_s, "limit_s": limit.value}, evidence.exit_source)]


def _left_running(evidence: Evidence) -> list[dict[str, Any]]:
    """Processes that trained, and outlived the one that was killed."""
    trained = {one.pid for kind in (ev.FitStarted, ev.LoopSeen) for one in evidence.all(kind)}
    running = [one for one in evidence.end.left_running if one.get("pid") in trained]
    return [{"pid": one["pid"], "command": one.get("command", "")} for one in running]
