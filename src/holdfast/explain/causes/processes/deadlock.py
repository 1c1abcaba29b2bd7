"""Threads wait for one another."""

import re

from holdfast.explain.readings.stacks import StackReading, StalledThread, ThreadState, stalled_threads
from holdfast.explain.readings.workers import thread_raised
from holdfast.explain.rule import Evidence, Fact, Finding, Phase, Remedy, Strength, Title, cause

_TAKES = re.compile(r"(async )?with \S*|.*\.(acquire|wait)\(")
_LOCK_NAME = re.compile(r"(?:with )?([A-Za-z_]\w*)(?:\s*:|\.acquire\()")
#: A process that uses more of a core than this is at work, and may release the lock. Chosen; no measurement
#: is recorded.
_AT_WORK_SHARE = 0.1
_NAMED = 4  # threads that a finding names


@cause("deadlock", specialises=("callback-blocked", "input-blocked"))
def deadlock(evidence: Evidence) -> Finding | None:
    stacks = evidence.stacks
    if evidence.stall is None or stacks is None or evidence.phase == Phase.EXIT or stacks.busy:
        return None
    own = [one for one in stalled_threads(evidence, lambda thread: thread.users is not None) if one.trains]
    if pool := _pool_of_waiters(stacks, own):
        title = Title("deadlock.pool", {"where": pool[0].thread.where})
        remedies = [Remedy("pool.separate-inner-tasks")]
        return Finding(Strength.SUPPORTED, title, _facts(stacks, pool), remedies)
    if queued := _at_full_queues(stacks, own):
        places = [f"{one.thread.users.file}:{one.thread.users.line}" for one in queued if one.thread.users]
        remedies = [Remedy("queue.no-circle"), Remedy("lock.timeout")]
        return Finding(
            Strength.SUPPORTED, Title("deadlock.queues", {"places": places}), _facts(stacks, queued), remedies
        )
    waiting = [one for one in own if one.thread.on_lock and one.thread.still and _on_a_lock(one.thread)]
    if len(waiting) < 2 or _one_lock(waiting):
        return _never_released(evidence, stacks, waiting)
    frames = [one.thread.users for one in waiting]
    places = [f"{frame.file}:{frame.line}" for frame in frames if frame is not None]
    strength = Strength.established_if(sum(_names_a_lock(one.thread) for one in waiting) >= 2)
    remedies = [Remedy("lock.order"), Remedy("lock.timeout")]
    return Finding(strength, Title("deadlock", {"places": places}), _facts(stacks, waiting), remedies)


def _facts(stacks: StackReading, waiting: list[StalledThread]) -> list[Fact]:
    return [*(one.fact for one in waiting[:_NAMED]), Fact("process.idle", {}, stacks.source)]


def _never_released(evidence: Evidence, stacks: StackReading, waiting: list[StalledThread]) -> Finding | None:
    """A thread waits for a lock that nobody will release: taken twice, or its owner has ended."""
    named = [one for one in waiting if _names_a_lock(one.thread)]
    if not named or any(other.cpu_share > _AT_WORK_SHARE for other in stacks.others):
        return None
    title = Title("deadlock.never-released", {"where": named[0].thread.where})
    facts = [*_facts(stacks, named), *thread_raised(evidence)[:1]]
    return Finding(Strength.SUPPORTED, title, facts, [Remedy("lock.release-always", safety="guess")])


def _pool_of_waiters(stacks: StackReading, own: list[StalledThread]) -> list[StalledThread]:
    """The threads of an executor, when every one of them waits for the result of another task."""
    pool = [thread for thread in stacks.python_threads if thread.within("concurrent/futures/thread.py")]
    still = [one for one in own if one.thread in pool and one.thread.still]
    waiters = [one for one in still if one.thread.within("futures/_base.py")]
    elsewhere = bool(stacks.others)  # the results may be those of a pool of processes
    return waiters if len(waiters) == len(pool) and not elsewhere else []


def _at_full_queues(stacks: StackReading, own: list[StalledThread]) -> list[StalledThread]:
    """All threads with code of the user's own wait at queues, and one of them at a full one: who would empty it waits
    too. A reader in another process would not be seen."""
    queued = [one for one in own if one.thread.still and _at_queue(one.thread)]
    full = [one for one in queued if _at_queue(one.thread) == "put"]
    if len(queued) < 2 or len(queued) < len(own) or not full or stacks.others:
        return []
    return [*full, *(one for one in queued if one not in full)]


def _at_queue(thread: ThreadState) -> str:
    """put | get of a queue between threads; "" elsewhere."""
    inner = [frame for frame in thread.below_users if frame.file.endswith("/queue.py")]
    names = [frame.function.rpartition(".")[2] for frame in inner]
    return names[-1] if names and names[-1] in ("put", "get") else ""


def _on_a_lock(thread: ThreadState) -> bool:
    """It waits for a lock itself, and not for work in a queue, for a thread's end or inside a library."""
    inner = thread.below_users
    return thread.users is not None and all("threading.py" in frame.file for frame in inner)


def _one_lock(waiting: list[StalledThread]) -> bool:
    """All wait for the same lock by its plain name: whoever holds it is none of them."""
    codes = [one.thread.users.code.strip() for one in waiting if one.thread.users is not None]
    names = [_LOCK_NAME.match(code) for code in codes]
    return len({name[1] if name else str(number) for number, name in enumerate(names)}) == 1


def _names_a_lock(thread: ThreadState) -> bool:
    frame = thread.users
    return frame is not None and thread.frames[0] is frame and _TAKES.match(frame.code.strip()) is not None
