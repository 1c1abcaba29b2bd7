"""A forked process waits for a lock that nobody in it holds."""

from __future__ import annotations

import itertools
import re

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.readings.stacks import ProcessState, StackReading, is_users, plain_name
from holdfast.explain.unconverted import Fact, Finding, Remedy, Strength
from holdfast.journal import events as ev
from holdfast.journal.beats import Phase


@cause("fork-deadlock", Group.PROCESSES, specialises=("input-blocked",))
def fork_deadlock(evidence: Evidence) -> Finding | None:
    standing = evidence.stacks
    if evidence.stall is None or standing is None or evidence.phase == Phase.EXIT:
        return None
    inside = [other for other in standing.others if other.state not in ("Z", "T") and _in_framework(other)]
    if inside and standing.idle:
        return _without_its_threads(evidence, standing, inside)
    stuck = [other for other in standing.others if other.state not in ("Z", "T") and _lone_on_lock(other)]
    started = evidence.last(ev.WorkersStarted)
    data = evidence.data()
    forked = (started is not None and started.event.method == "fork") or (
        data is not None and bool(data.event.multiprocessing)
    )
    if not stuck or not standing.idle or (evidence.all(ev.WorkerGone) and not forked):
        return None
    resting = [other for other in stuck if _rests(other)]
    if len(resting) == len(stuck):
        return None
    held = [other for other in stuck if other not in resting]
    facts = []
    for other in held[:3]:
        thread = other.threads[0]
        where = f" at {thread.where}" if thread.where else ""
        facts.append(
            Fact(
                f"process {other.pid} ({other.name}) has one thread, waiting for a lock{where}",
                standing.source,
            )
        )
    if started is not None:
        late = ", after TensorFlow had started its threads" if started.event.after_framework else ""
        facts.append(
            Fact(
                f"{started.event.by} forked {started.event.count} processes{late}"
                + (f" ({started.event.where})" if started.event.where else ""),
                started.source,
            )
        )
    facts.append(Fact("nothing of the run computes", standing.source))
    certain = started is not None and bool(started.event.after_framework)
    return Finding(
        "fork-deadlock",
        Strength.SUPPORTED
        if forked or certain or any(other.threads[0].python for other in held)
        else Strength.POSSIBLE,
        f"a forked process ({held[0].pid}) waits for a lock that was held when it was forked, and that nobody "
        "in it can release",
        tuple(facts),
        (),
        (
            Remedy(
                "start processes by spawn or forkserver, before TensorFlow is imported",
                "your-choice",
                'multiprocessing.set_start_method("spawn")',
            ),
            Remedy("use threads or tf.data instead of processes", "your-choice"),
        ),
    )


def _without_its_threads(evidence: Evidence, standing: StackReading, inside: list[ProcessState]) -> Finding:
    """A forked child that calls the framework waits for threads that stayed behind in its parent."""
    facts = []
    for other in inside[:3]:
        main = other.main
        where = f" at {main.where}" if main is not None and main.where else ""
        facts.append(
            Fact(
                f"process {other.pid} was forked, and waits inside TensorFlow or JAX{where}", standing.source
            )
        )
    started = evidence.last(ev.WorkersStarted)
    if started is not None and started.event.where:
        facts.append(
            Fact(
                f"{started.event.by} forked {started.event.count} processes ({started.event.where})",
                started.source,
            )
        )
    facts.append(Fact("nothing of the run computes", standing.source))
    main = inside[0].main
    at = f" at {main.where}" if main is not None and main.users is not None else ""
    return Finding(
        "fork-deadlock",
        Strength.SUPPORTED,
        f"a forked process ({inside[0].pid}) calls TensorFlow or JAX{at}, whose threads stayed behind in its parent",
        tuple(facts),
        (),
        (
            Remedy(
                "start processes that use the framework by spawn, and build the model in them",
                "your-choice",
                'multiprocessing.get_context("spawn").Pool(2)',
            ),
            Remedy("let the parent do what needs the framework, and the processes the rest", "your-choice"),
        ),
    )


def _in_framework(process: ProcessState) -> bool:
    main = process.main
    if main is None or not main.on_lock or main.busy or not main.frames:
        return False
    forked = any("multiprocessing/popen_fork.py" in frame.file for frame in main.frames)
    inner = list(itertools.takewhile(lambda frame: not is_users(frame.file), main.frames))
    return forked and any(_FRAMEWORK.search(frame.file) for frame in inner[:3])


_FRAMEWORK = re.compile(r"/(tensorflow/python/(eager|framework|client)|jax/_src|jaxlib|torch)/")


def _lone_on_lock(process: ProcessState) -> bool:
    return len(process.threads) == 1 and process.threads[0].on_lock and not process.threads[0].busy


def _rests(process: ProcessState) -> bool:
    """An idle worker of a pool waits for work in its queue, which takes a lock too.

    A forked one still has the frames of the script that made the pool, outside those of the pool.
    """
    thread = process.threads[0]
    inner = list(itertools.takewhile(lambda frame: not is_users(frame.file), thread.frames))
    if not inner or plain_name(inner[0]) not in (
        "get",
        "_recv",
        "recv_bytes",
        "__enter__",
        "acquire",
        "main",
    ):
        return False
    return any(place in frame.file for frame in inner for place in _QUEUES)


_QUEUES = (
    "multiprocessing/pool.py",
    "multiprocessing/queues.py",
    "multiprocessing/resource_tracker",
    "concurrent/futures/process.py",
)
