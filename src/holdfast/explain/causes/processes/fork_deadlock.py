"""A forked process waits for a lock that nobody in it holds."""

from __future__ import annotations

import itertools
import re

from holdfast.explain.readings.stacks import (
    ProcessState,
    StackReading,
    StalledThread,
    ThreadState,
    is_users,
    plain_name,
)
from holdfast.explain.readings.workers import workers_started
from holdfast.explain.rule import Evidence, Fact, Finding, Phase, Remedy, Strength, Title, cause, ev
from holdfast.journal.stack_files import Frame

_FRAMEWORK = re.compile(r"/(tensorflow/python/(eager|framework|client)|jax/_src|jaxlib|torch)/")
#: An idle worker waits in one of these functions of one of these files.
_WAITS_FOR_WORK = ("get", "_recv", "recv_bytes", "__enter__", "acquire", "main")
_QUEUES = (
    "multiprocessing/pool.py",
    "multiprocessing/queues.py",
    "multiprocessing/resource_tracker",
    "concurrent/futures/process.py",
)
#: How many of the innermost frames are looked at for the framework, and how many processes are named.
_INNERMOST, _NAMED = 3, 3


@cause("fork-deadlock", specialises=("input-blocked",))
def fork_deadlock(evidence: Evidence) -> Finding | None:
    stacks = evidence.stacks
    if evidence.stall is None or stacks is None or evidence.phase == Phase.EXIT or not stacks.idle:
        return None
    alive = [other for other in stacks.others if other.state not in ("Z", "T")]
    inside = [other for other in alive if _in_framework(other)]
    if inside:
        return _without_its_threads(evidence, stacks, inside)
    started, data = evidence.last(ev.WorkersStarted), evidence.data()
    forked = started is not None and started.event.method == "fork"
    forked = forked or (data is not None and bool(data.event.multiprocessing))
    stuck = [other for other in alive if other.lone_on_lock and not _rests(other)]
    if not stuck or (evidence.all(ev.WorkerGone) and not forked):
        return None
    after_framework = started is not None and bool(started.event.after_framework)
    certain = forked or after_framework or any(other.threads[0].python for other in stuck)
    return Finding(
        Strength.SUPPORTED if certain else Strength.POSSIBLE,
        Title("fork-deadlock", {"pid": stuck[0].pid}),
        because=_facts(evidence, stacks, stuck),
        remedies=[Remedy("worker.spawn"), Remedy("worker.use-threads-or-tf-data")],
    )


def _without_its_threads(evidence: Evidence, stacks: StackReading, inside: list[ProcessState]) -> Finding:
    """A forked child that calls the framework waits for threads that stayed behind in its parent."""
    main = inside[0].main
    where = main.where if main is not None and main.users is not None else ""
    return Finding(
        Strength.SUPPORTED,
        Title("fork-deadlock.framework", {"pid": inside[0].pid, "where": where}),
        because=_facts(evidence, stacks, inside),
        remedies=[Remedy("worker.spawn-with-framework"), Remedy("worker.keep-framework-in-parent")],
    )


def _facts(evidence: Evidence, stacks: StackReading, stuck: list[ProcessState]) -> tuple[Fact, ...]:
    waits = [
        StalledThread(other.main, other, False, stacks.source).fact
        for other in stuck[:_NAMED]
        if other.main is not None
    ]
    return (*waits, *workers_started(evidence), Fact("run.idle", {}, stacks.source))


def _in_framework(process: ProcessState) -> bool:
    main = process.main
    if main is None or not main.on_lock or main.busy:
        return False
    forked = any("multiprocessing/popen_fork.py" in frame.file for frame in main.frames)
    return forked and any(_FRAMEWORK.search(frame.file) for frame in _inner(main)[:_INNERMOST])


def _rests(process: ProcessState) -> bool:
    """An idle worker of a pool waits for work in its queue, which takes a lock too.

    A forked one still has the frames of the script that made the pool, outside those of the pool.
    """
    inner = _inner(process.threads[0])
    waits = bool(inner) and plain_name(inner[0]) in _WAITS_FOR_WORK
    return waits and any(place in frame.file for frame in inner for place in _QUEUES)


def _inner(thread: ThreadState) -> list[Frame]:
    """The frames inside the innermost one of the user's."""
    return list(itertools.takewhile(lambda frame: not is_users(frame.file), thread.frames))
