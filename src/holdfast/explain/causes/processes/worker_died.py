"""A loader process died and the main process waits for it."""

from holdfast.explain.readings.error import ErrorText, Quote, lost_process, user_line
from holdfast.explain.readings.stacks import silence, stalled_threads
from holdfast.explain.readings.workers import (
    has_finished,
    has_loader,
    thread_raised,
    worker_ended,
    workers_gone,
)
from holdfast.explain.rule import Evidence, Fact, Finding, Phase, Recorded, Remedy, Strength, Title, cause, ev

_DIED = ErrorText(
    r"worker.*(died|killed|exited) unexpectedly|BrokenProcessPool|"
    r"A process in the process pool was terminated|DataLoader worker .*(killed|exited)"
)
_OVER = (Phase.EXIT, Phase.AFTER)
#: A worker or thread that ended up to this long after the stall began may be its reason: the supervisor samples,
#: and may see the two in the wrong order. Chosen; no measurement is recorded.
_SEEN_LATE_S = 5.0
#: A worker that ended longer than this before the stall is probably not its reason. Chosen; no
#: measurement is recorded.
_LONG_BEFORE_S = 600.0


@cause("worker-died", specialises=("script-error", "input-blocked"), mechanism=True)
def worker_died(evidence: Evidence) -> Finding | None:
    quote, broken = _DIED.match(evidence), lost_process(evidence)
    gone = [one for one in workers_gone(evidence) if not has_finished(evidence, one.event)]
    stall = evidence.stall
    if quote is None and broken is not None:
        return _pipe_broke(evidence, broken)
    if quote is None and (not gone or stall is None):
        return _thread_ended(evidence)
    before = [one for one in gone if stall is None or one.mono <= stall.mono + _SEEN_LATE_S]
    if quote is None and (not before or evidence.phase in _OVER):
        return None
    why = [fact for one in before[-2:] for fact in _why(evidence, one.event.worker_pid)]
    facts = [quote.fact] if quote is not None else []
    facts += [*(worker_ended(one) for one in before[-2:]), *why, *silence(evidence)]
    remedies = [Remedy("worker.fix-the-crash") if why else Remedy("worker.use-fewer-or-threads")]
    if "BrokenProcessPool" not in evidence.error_text:  # such a pool has raised
        remedies.append(Remedy("worker.use-a-pool-that-raises"))
    title = Title("worker-died", {"waits": stall is not None})
    return Finding(_strength(evidence, quote, before), title, facts, remedies)


def _strength(evidence: Evidence, quote: Quote | None, before: list[Recorded[ev.WorkerGone]]) -> Strength:
    loader, stall = has_loader(evidence), evidence.stall
    others = evidence.stacks.others if evidence.stacks is not None else ()
    long_before = bool(before) and stall is not None and stall.mono - before[-1].mono > _LONG_BEFORE_S
    killed = any(one.event.oom_kills_rose for one in before)
    other_waits = any(other.state != "Z" and other.lone_on_lock for other in others)
    if long_before or (other_waits and not killed and not loader):
        return Strength.POSSIBLE
    if quote is not None or loader:
        return Strength.ESTABLISHED
    unrelated = all(_is_no_loader(one.event) for one in before)
    return Strength.POSSIBLE if unrelated else Strength.SUPPORTED


def _is_no_loader(event: ev.WorkerGone) -> bool:
    """Another program: `tar` before the training."""
    if event.oom_kills_rose or event.last_state.startswith("SIG"):
        return False
    return "python" not in f"{event.name} {event.command}".lower()


def _why(evidence: Evidence, pid: int) -> list[Fact]:
    crashes = [one for one in evidence.all(ev.WorkerCrashed) if one.event.worker_pid == pid]
    exits = [one for one in evidence.all(ev.WorkerExitCalled) if one.event.worker_pid == pid]
    facts = [one.fact("worker.crashed", what=one.event.what, where=one.event.where) for one in crashes[:1]]
    return facts + [one.fact("worker.exited", where=one.event.where) for one in exits[-1:]]


def _pipe_broke(evidence: Evidence, broken: Fact) -> Finding:
    """A process ended while another read from it: all that the reader sees is a broken pipe."""
    gone = evidence.all(ev.WorkerGone)
    known = bool(gone) or bool(evidence.dataset().workers) or has_loader(evidence)
    facts = [broken, *(worker_ended(one) for one in gone[-2:]), *user_line(evidence)]
    remedies = [Remedy("worker.load-without"), Remedy("worker.use-fewer-or-smaller")]
    return Finding(Strength.established_if(known), Title("worker-died.while-read"), facts, remedies)


def _thread_ended(evidence: Evidence) -> Finding | None:
    """A thread that filled a queue ended with an exception, and a reader waits for what it will never put there."""
    stall, stacks = evidence.stall, evidence.stacks
    raised = thread_raised(evidence)
    at = [one.mono for one in evidence.all(ev.ExceptionRaised) if one.event.left == "thread"]
    if not raised or stall is None or stacks is None or evidence.phase in _OVER:
        return None
    waiting = stalled_threads(
        evidence,
        lambda one: not one.busy and one.users is not None and bool(one.within("queue.py", "threading.py")),
    )
    readers = [one for one in waiting if one.trains]
    if not readers or not stacks.idle or (at and at[-1] > stall.mono + _SEEN_LATE_S):
        return None
    certain = bool(at) and readers[0].thread.within("queue.py")  # when it was printed is not known
    error, where = raised[-1].values["error"], raised[-1].values["where"]
    title = Title("worker-died.thread", {"error": error, "where": where})
    facts = [raised[-1], readers[0].fact, *silence(evidence)]
    remedies = [Remedy("line.fix", {"where": where}), Remedy("thread.pass-its-exception-on")]
    return Finding(Strength.established_if(certain), title, facts, remedies)
