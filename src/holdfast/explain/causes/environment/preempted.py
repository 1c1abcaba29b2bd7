"""The scheduler or the cloud asked it to end with SIGTERM."""

from holdfast.explain.causes.environment import scheduler_answer
from holdfast.explain.outcome import did_all
from holdfast.explain.pass_without_steps import was_stuck
from holdfast.explain.readings import end
from holdfast.explain.remedies import resume
from holdfast.explain.rule import Evidence, Fact, Finding, Recorded, Remedy, Strength, Title, cause, ev


@cause("preempted", specialises=("script-error", "killed-from-outside"))
def preempted(evidence: Evidence) -> Finding | None:
    received = [one for one in evidence.all(ev.SignalReceived) if _ended_it(evidence, one)]
    seen = [one for one in evidence.all(ev.SignalSeen) if _ended_it(evidence, one)]
    by_term, decided = (
        evidence.exit_signal == "SIGTERM",
        scheduler_answer.why(evidence) in scheduler_answer.DECISIONS,
    )
    if not (received or seen or by_term or decided) or evidence.stopped_by_us == "stall" or evidence.alive:
        return None
    if scheduler_answer.why(evidence) == "node-failed":
        return None  # the signal is how the scheduler ended what was left
    if (evidence.own_signal is not None and not received) or did_all(evidence):
        return None
    inferred = evidence.planned is None and end.left_on_signal(evidence) == "SIGTERM" and not by_term
    times = [one.mono for one in received] + [one.mono for one in seen]
    finished_first = not by_term and any(end.continued_after(evidence, mono) for mono in times)
    asked = evidence.all(ev.GroupStopRequested)[-1:]
    facts = [one.fact("group.stop-requested", text=one.event.text) for one in asked]
    facts += scheduler_answer.facts_of(evidence)
    facts += [end.passed_on(one) for one in received[-1:]]
    facts += [end.seen_by_script(one, direct=False) for one in seen[-1:]]
    facts += [Fact("steps.none-after-signal", {}, "vitals.jsonl")] if inferred and times else []
    unsure = (inferred or finished_first) and not decided
    strength = Strength.SUPPORTED if unsure else Strength.ESTABLISHED
    interrupted = any(one.event.signal == "SIGINT" for one in asked)
    saved = bool(evidence.all(ev.SaveDone))
    start = Remedy("run.start-if-it-resumes") if saved else Remedy("checkpoint.save-while-training")
    return Finding(
        Strength.POSSIBLE if was_stuck(evidence) else strength,
        Title("preempted.group-interrupted") if interrupted else _title(evidence),
        because=[*facts, *_end(evidence)],
        remedies=[resume(evidence) or start, Remedy("scheduler.ask-for-more")],
        ends=not was_stuck(evidence),
    )


def _title(evidence: Evidence) -> Title:
    """The scheduler may have said why, or a log."""
    if scheduler_answer.why(evidence) in scheduler_answer.DECISIONS:
        return Title("preempted.by-scheduler", {"end": scheduler_answer.why(evidence)})
    words = evidence.end_words
    if words is not None and words.by_scheduler:
        return Title("preempted.by-scheduler", {"end": words.kind})
    return Title("preempted")


def _ended_it(evidence: Evidence, signal: Recorded[ev.SignalReceived] | Recorded[ev.SignalSeen]) -> bool:
    return signal.event.signal == "SIGTERM" and end.may_have_ended_it(evidence, signal)


def _end(evidence: Evidence) -> tuple[Fact, ...]:
    if evidence.exit_signal == "SIGTERM":
        return end.end_seen(evidence)
    if evidence.exit_called is not None:
        return (end.exit_called(evidence.exit_called),)
    followed = evidence.exit_signal == "SIGKILL"
    return (Fact("signal.kill-followed", {}, evidence.exit_source),) if followed else ()
