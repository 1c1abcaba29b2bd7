"""Training is over and the interpreter does not end."""

from holdfast.explain.readings.stacks import StackReading, silence, stalled_threads
from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, Strength, Title, cause, ev


@cause("exit-hang", mechanism=True)
def exit_hang(evidence: Evidence) -> Finding | None:
    stall, leaving, stacks = evidence.stall, evidence.last(ev.ExitStarted), evidence.stacks
    if stall is None or not (stall.event.phase == "exit" or (stall.event.phase == "after" and leaving)):
        return None
    facts = [*silence(evidence)]
    if leaving is not None:
        facts.append(leaving.fact("exit.started", steps=leaving.event.steps, raised=leaving.event.raised))
    threads = stalled_threads(evidence, lambda thread: not thread.main and thread.users is not None)
    own = [one for one in threads if one.trains]
    facts += [one.fact for one in own[:2]]
    pool = ""
    if stacks is not None:
        pool = _pool(evidence, stacks)
        facts += _processes(stacks)
        facts += [Fact("pool.awaited", {"where": pool}, stacks.source)] if pool else []
    facts += _python_fed(evidence)
    if pool:
        limit = Remedy("worker.limit-its-time", safety="guess")
        remedies = [Remedy("pool.terminate", {"where": pool}), limit]
    elif own:
        remedies = [Remedy("thread.join-or-daemon", {"where": own[0].thread.where})]
    else:
        remedies = [Remedy("exit.clear-exception"), Remedy("exit.end-threads-and-pools")]
    return Finding(Strength.ESTABLISHED, Title("exit-hang", {"pool": pool}), facts, remedies)


def _processes(stacks: StackReading) -> list[Fact]:
    """Processes that it started and that still run."""
    running = [other for other in stacks.others if other.state != "Z"]
    named = [{"pid": one.pid, "name": one.name, "where": one.users_line} for one in running[:2]]
    return [Fact("process.still-running", values, stacks.source) for values in named]


def _python_fed(evidence: Evidence) -> list[Fact]:
    """TensorFlow waits for a thread that the interpreter has ended, where Python fed a fit that was left early."""
    data, raised = evidence.data(), evidence.seen(ev.ExitStarted).raised
    left_early = raised or any(fit.end.raised or fit.end.stopped for fit in evidence.fits)
    fed = data is not None and data.event.python_fed and left_early
    return [data.fact("exit.python-fed")] if data is not None and fed else []


def _pool(evidence: Evidence, stacks: StackReading) -> str:
    """The line that made the pool whose processes the main thread waits for at the end."""
    waits = ("_terminate_pool", "_join_exited", "multiprocessing/process.py")
    if stacks.main is None or stacks.main.within(*waits) is None:
        return ""
    made = [one.event.where for one in evidence.all(ev.WorkersStarted) if one.event.method != "thread"]
    return made[-1] if made else ""
