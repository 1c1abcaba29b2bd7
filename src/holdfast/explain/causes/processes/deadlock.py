"""Threads wait for one another."""

from __future__ import annotations

import re

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.readings.stacks import StackReading, ThreadState
from holdfast.explain.unconverted import Fact, Finding, Remedy, Strength
from holdfast.explain.words import clipped, listed
from holdfast.journal import events as ev
from holdfast.journal.beats import Phase


@cause(
    "deadlock",
    Group.PROCESSES,
    specialises=(
        "callback-blocked",
        "input-blocked",
    ),
)
def deadlock(evidence: Evidence) -> Finding | None:
    standing = evidence.stacks
    if evidence.stall is None or standing is None or evidence.phase == Phase.EXIT or standing.busy:
        return None
    waiting = [
        thread
        for thread in standing.python_threads
        if thread.on_lock and thread.still and not thread.busy and _on_a_lock(thread)
    ]
    owners = [thread for thread in waiting if thread.users is not None]
    pool = _pool_of_waiters(standing)
    if pool:
        return _waits_for_itself(standing, pool)
    if len(owners) < 2 or _one_lock(owners):
        return _alone(evidence, standing, owners)
    facts = []
    for thread in owners[:4]:
        frame = thread.users
        code = f": `{clipped(frame.code, 60)}`" if frame is not None and frame.code else ""
        facts.append(
            Fact(
                f"{'the main thread' if thread.main else 'thread ' + (thread.name or str(thread.tid))} waits "
                f"for a lock at {thread.where}{code}",
                standing.source,
            )
        )
    facts.append(
        Fact(
            "no thread of the process computes, and none can release what the others wait for",
            standing.source,
        )
    )
    direct = [thread for thread in owners if _names_a_lock(thread)]
    places = listed(
        [f"{frame.file}:{frame.line}" for thread in owners if (frame := thread.users) is not None], 2
    )
    return Finding(
        "deadlock",
        Strength.ESTABLISHED if len(direct) >= 2 else Strength.SUPPORTED,
        f"threads wait for one another's locks: {places}",
        tuple(facts),
        (),
        (
            Remedy(
                "take locks in one order everywhere, or one lock for both",
                "your-choice",
                "with first, second:   # the same order in every thread",
            ),
            Remedy(
                "give up after a while, and say so",
                "your-choice",
                "if not lock.acquire(timeout=30): raise RuntimeError(…)",
            ),
        ),
    )


def _alone(evidence: Evidence, standing: StackReading, owners: list[ThreadState]) -> Finding | None:
    """One thread that waits for a lock nobody will release: taken twice, or its owner has ended."""
    named = [thread for thread in owners if _names_a_lock(thread)]
    if not named or any(other.cpu_share > 0.1 for other in standing.others):
        return None
    thread = named[0]
    facts = [
        Fact(
            f"it stands at {one.where}: `{clipped(one.users.code if one.users else '', 60)}`", standing.source
        )
        for one in named[:3]
    ]
    facts.append(Fact("no thread of the process computes", standing.source))
    died = next((said for said in evidence.all(ev.ExceptionRaised) if said.event.left == "thread"), None)
    if died is not None:
        place = f" at {died.event.user_line}" if died.event.user_line else ""
        words = f"a thread had ended with {died.event.type}{place}: a lock that it had taken then stays taken"
        facts.append(Fact(words, died.source))
    return Finding(
        "deadlock",
        Strength.SUPPORTED,
        f"a thread waits for a lock that nobody releases: {thread.where}",
        tuple(facts),
        (),
        (
            Remedy(
                "look for a lock that is taken twice by one thread, or that a thread held when it ended; `with` "
                "releases it whatever happens",
                "guess",
                "with lock: …",
            ),
        ),
    )


def _pool_of_waiters(standing: StackReading) -> list[ThreadState]:
    """The threads of an executor, when every one of them waits for the result of another task."""
    pool = [thread for thread in standing.python_threads if thread.within("concurrent/futures/thread.py")]
    waits = [
        thread
        for thread in pool
        if thread.still and not thread.busy and thread.users is not None and thread.within("futures/_base.py")
    ]
    elsewhere = bool(standing.others)  # the results may be those of a pool of processes
    return waits if waits and len(waits) == len(pool) and not elsewhere else []


def _waits_for_itself(standing: StackReading, pool: list[ThreadState]) -> Finding:
    facts = [
        Fact(
            f"thread {thread.name or thread.tid} of the pool waits for a result at {thread.where}",
            standing.source,
        )
        for thread in pool[:3]
    ]
    facts.append(
        Fact(
            "no thread of the pool is free for the tasks that they wait for, and none computes",
            standing.source,
        )
    )
    return Finding(
        "deadlock",
        Strength.SUPPORTED,
        f"every thread of a pool waits for a task of that pool: {pool[0].where}",
        tuple(facts),
        (),
        (
            Remedy(
                "give the inner tasks a pool of their own, or do them in the task itself",
                "your-choice",
                "inner = ThreadPoolExecutor(4)   # a task must not wait for its own pool",
            ),
        ),
    )


def _on_a_lock(thread: ThreadState) -> bool:
    """It waits for a lock itself, and not for work in a queue, for a thread's end or inside a library."""
    innermost = thread.frames[0]
    library = thread.within(
        "queue.py",
        "concurrent/futures/",
        "multiprocessing/",
        "/tensorflow/",
        "/keras/",
        "selectors.py",
        "asyncio",
        "subprocess.py",
        "socketserver",
    )
    if thread.users is not None and innermost is thread.users:
        return True
    near = thread.frames[: thread.frames.index(thread.users)] if thread.users is not None else ()
    return (
        thread.users is not None
        and all("threading.py" in frame.file for frame in near)
        and (library is None or bool(near))
    )


def _one_lock(owners: list[ThreadState]) -> bool:
    """All wait for the same lock by its plain name: whoever holds it is none of them."""
    found = [
        re.match(r"(?:with )?([A-Za-z_]\w*)(?:\s*:|\.acquire\()", thread.users.code.strip())
        for thread in owners
        if thread.users is not None
    ]
    return len({one[1] if one else str(number) for number, one in enumerate(found)}) == 1


def _names_a_lock(thread: ThreadState) -> bool:
    frame = thread.users
    return (
        frame is not None
        and bool(re.match(r"(async )?with \S*|.*\.(acquire|wait)\(", frame.code.strip()))
        and thread.frames[0] is frame
    )
