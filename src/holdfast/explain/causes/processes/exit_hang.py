"""Training is over and the interpreter does not end."""

from __future__ import annotations

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.readings.stacks import ProcessState, StackReading
from holdfast.explain.unconverted import Fact, Finding, Remedy, Strength
from holdfast.explain.words import span, whole
from holdfast.journal import events as ev


@cause("exit-hang", Group.PROCESSES, mechanism=True)
def exit_hang(evidence: Evidence) -> Finding | None:
    leaving = evidence.last(ev.ExitStarted)
    stall = evidence.stall
    in_exit = stall is not None and stall.event.phase in ("exit", "after") and leaving is not None
    if stall is None or not (in_exit or stall.event.phase == "exit"):
        return None
    standing = evidence.stacks
    facts = [
        Fact(
            f"the script is over and the process has not ended for {span(evidence.silent_for_s)}",
            stall.source,
        )
    ]
    if leaving is not None:
        facts.append(
            Fact(
                f"the interpreter began to shut down after {whole(leaving.event.steps)} steps"
                + (f", left by {leaving.event.raised}" if leaving.event.raised else ""),
                leaving.source,
            )
        )
    data = evidence.data()
    python = data is not None and bool(data.event.python_fed)
    others = []
    if standing is not None:
        others = [
            thread for thread in standing.python_threads if not thread.main and thread.users is not None
        ]
        facts += [
            Fact(f"a thread of yours still stands at {thread.where}", standing.source)
            for thread in others[:2]
        ]
        facts += [
            Fact(f"process {other.pid} ({other.name}) still lives{_at(other)}", standing.source)
            for other in standing.others
            if other.state != "Z"
        ][:2]
    pool = _pool(evidence)
    if pool:
        facts.append(
            Fact(f"the main thread waits for the processes of the pool made at {pool}", _source(standing))
        )
    raised = (leaving is not None and bool(leaving.event.raised)) or any(
        fit.done is not None and (fit.done.event.raised or fit.done.event.stopped) for fit in evidence.fits
    )
    if python and raised and data is not None:
        facts.append(
            Fact(
                "the data is fed by Python and fit was left early: TensorFlow then waits for a thread that the "
                "interpreter has ended",
                data.source,
            )
        )
    return Finding(
        "exit-hang",
        Strength.ESTABLISHED,
        "training is over, and the interpreter does not end"
        + (f": the pool made at {pool} is not done" if pool else ""),
        tuple(facts),
        (),
        (
            Remedy(
                f"end the pool made at {pool} before the script is over",
                "your-choice",
                "pool.terminate(); pool.join()   # or: with Pool(…) as pool: …",
            ),
            Remedy("a worker that ignores SIGTERM holds the exit up: give its work a time limit", "guess"),
        )
        if pool
        else (
            Remedy(
                "drop the last exception and collect before leaving",
                "your-choice",
                "sys.last_exc = sys.last_value = sys.last_traceback = None\ngc.collect()",
            ),
            Remedy("threads of your own: daemon=True, or join them; pools: close them", "your-choice"),
        )
        if not others
        else (
            Remedy(
                f"end or join the thread at {others[0].where}, or make it a daemon",
                "your-choice",
                "threading.Thread(target=work, daemon=True)",
            ),
        ),
    )


def _at(process: ProcessState) -> str:
    main = process.main
    return f", at {main.where}" if main is not None and main.users is not None else ""


def _pool(evidence: Evidence) -> str:
    """The line that made the pool whose processes the main thread waits for at the end."""
    standing = evidence.stacks
    main = standing.main if standing is not None else None
    if main is None or main.within("_terminate_pool", "_join_exited", "multiprocessing/process.py") is None:
        return ""
    made = [said.event.where for said in evidence.all(ev.WorkersStarted) if said.event.method != "thread"]
    return made[-1] if made else ""


def _source(standing: StackReading | None) -> str:
    return standing.source if standing is not None else "stacks"
