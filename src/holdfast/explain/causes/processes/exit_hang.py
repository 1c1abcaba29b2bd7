"""Training is over and the interpreter does not end."""

from __future__ import annotations

from holdfast.explain.readings.stacks import StackReading, StalledThread, silence, stalled_threads
from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, Strength, Title, cause, ev


@cause("exit-hang", mechanism=True)
def exit_hang(evidence: Evidence) -> Finding | None:
    stall, leaving, stacks = evidence.stall, evidence.last(ev.ExitStarted), evidence.stacks
    if stall is None or not (stall.event.phase == "exit" or (stall.event.phase == "after" and leaving)):
        return None
    own = [
        one
        for one in stalled_threads(evidence, lambda thread: not thread.main and thread.users is not None)
        if one.trains
    ]
    facts = list(silence(evidence))
    if leaving is not None:
        values = {"steps": leaving.event.steps, "raised": leaving.event.raised}
        facts.append(Fact("exit.started", values, leaving.source))
    facts += [one.fact for one in own[:2]]
    facts += _processes(stacks) if stacks is not None else []
    pool = _pool(evidence)
    facts += [Fact("pool.awaited", {"where": pool}, stacks.source)] if pool and stacks is not None else []
    facts += _python_fed(evidence)
    return Finding(Strength.ESTABLISHED, Title("exit-hang", {"pool": pool}), facts, _remedies(pool, own))


def _remedies(pool: str, own: list[StalledThread]) -> tuple[Remedy, ...]:
    if pool:
        return Remedy("pool.terminate", {"where": pool}), Remedy("worker.limit-its-time", safety="guess")
    if own:
        return (Remedy("thread.join-or-daemon", {"where": own[0].thread.where}),)
    return Remedy("exit.clear-exception"), Remedy("exit.end-threads-and-pools")


def _processes(stacks: StackReading) -> list[Fact]:
    """Processes that it started and that still run."""
    facts = []
    for other in stacks.others:
        main = other.main
        where = main.where if main is not None and main.users is not None else ""
        values = {"pid": other.pid, "name": other.name, "where": where}
        facts += [Fact("process.still-running", values, stacks.source)] if other.state != "Z" else []
    return facts[:2]


def _python_fed(evidence: Evidence) -> list[Fact]:
    """TensorFlow waits for a thread that the interpreter has ended, where Python fed a fit that was left early."""
    leaving, data = evidence.last(ev.ExitStarted), evidence.data()
    done = [fit.done.event for fit in evidence.fits if fit.done is not None]
    left_early = any(event.raised or event.stopped for event in done)
    left_early = left_early or (leaving is not None and bool(leaving.event.raised))
    if data is None or not data.event.python_fed or not left_early:
        return []
    return [Fact("exit.python-fed", {}, data.source)]


def _pool(evidence: Evidence) -> str:
    """The line that made the pool whose processes the main thread waits for at the end."""
    main = evidence.stacks.main if evidence.stacks is not None else None
    if main is None or main.within("_terminate_pool", "_join_exited", "multiprocessing/process.py") is None:
        return ""
    made = [one.event.where for one in evidence.all(ev.WorkersStarted) if one.event.method != "thread"]
    return made[-1] if made else ""
