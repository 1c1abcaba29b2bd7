"""A forked process waits for a lock that nobody in it holds."""

import re

from holdfast.explain.readings.stacks import ProcessState, StackReading, StalledThread, plain_name
from holdfast.explain.readings.workers import workers_started
from holdfast.explain.rule import Evidence, Fact, Finding, Phase, Remedy, Strength, Title, cause, ev

_FRAMEWORK = re.compile(r"/(tensorflow/python/(eager|framework|client)|jax/_src|jaxlib|torch)/")
#: An idle worker waits in one of these functions of one of these files.
_WAITS_FOR_WORK = ("get", "_recv", "recv_bytes", "__enter__", "acquire", "main")
_QUEUES = re.compile(r"multiprocessing/(pool\.py|queues\.py|resource_tracker)|concurrent/futures/process\.py")
#: How many of the innermost frames are looked at for the framework, and how many processes are named.
_INNERMOST, _NAMED = 3, 3


@cause("fork-deadlock", specialises=("input-blocked",))
def fork_deadlock(evidence: Evidence) -> Finding | None:
    stacks = evidence.stacks
    if evidence.stall is None or stacks is None or evidence.phase == Phase.EXIT or not stacks.idle:
        return None
    alive = [other for other in stacks.others if other.state not in ("Z", "T")]
    inside = [other for other in alive if _in_framework(other)]
    if inside:  # it waits for threads of the framework, which stayed behind in its parent
        title = Title("fork-deadlock.framework", {"pid": inside[0].pid, "where": inside[0].users_line})
        remedies = [Remedy("worker.spawn-with-framework"), Remedy("worker.keep-framework-in-parent")]
        return Finding(Strength.SUPPORTED, title, _facts(evidence, stacks, inside), remedies)
    started = evidence.seen(ev.WorkersStarted)
    forked = started.method == "fork" or bool(evidence.dataset().multiprocessing)
    stuck = [other for other in alive if other.lone_on_lock and not _rests(other)]
    if not stuck or (evidence.all(ev.WorkerGone) and not forked):
        return None
    certain = forked or started.after_framework or any(other.threads[0].python for other in stuck)
    title = Title("fork-deadlock", {"pid": stuck[0].pid})
    remedies = [Remedy("worker.spawn"), Remedy("worker.use-threads-or-tf-data")]
    return Finding(Strength.supported_if(certain), title, _facts(evidence, stacks, stuck), remedies)


def _facts(evidence: Evidence, stacks: StackReading, stuck: list[ProcessState]) -> list[Fact]:
    waits = [StalledThread(one.main, one, stacks).fact for one in stuck[:_NAMED] if one.main is not None]
    return [*waits, *workers_started(evidence), Fact("run.idle", {}, stacks.source)]


def _in_framework(process: ProcessState) -> bool:
    main = process.main
    if main is None or not main.on_lock or main.busy:
        return False
    forked = any("multiprocessing/popen_fork.py" in frame.file for frame in main.frames)
    return forked and any(_FRAMEWORK.search(frame.file) for frame in main.below_users[:_INNERMOST])


def _rests(process: ProcessState) -> bool:
    """An idle worker of a pool waits for work in its queue, which takes a lock too.

    A forked one still has the frames of the script that made the pool, outside those of the pool.
    """
    inner = process.threads[0].below_users
    waits = bool(inner) and plain_name(inner[0]) in _WAITS_FOR_WORK
    return waits and any(_QUEUES.search(frame.file) for frame in inner)
