"""One function over many items on all cores, in order, with a bounded number in flight.

A codec that crashes takes its process with it. Then the items that were in that process are run again,
each in a process of its own, and the one that crashes is named instead of ending the whole command.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from holdfast.data.workers import worker_choice
from holdfast.data.workers.memory_limit import limit_memory

if TYPE_CHECKING:
    from holdfast.data.workers.shard_results import ShardResults

Item = TypeVar("Item")
Result = TypeVar("Result")

CHUNK = 32

_shared: Any = None
_function: Any = None


def run(
    function: Callable[[Any, Item], Result],
    shared: Any,
    items: Iterable[Item],
    *,
    crashed: Callable[[Item], Result],
    workers: int | None = None,
    chunk: int = CHUNK,
    memory_limit: bool = True,
    results: ShardResults | None = None,
) -> Iterator[Result]:
    """`function(shared, item)` for every item, in the order of the items.

    `crashed(item)` is the result for an item whose process died. `shared` travels once a worker. Where a Ray cluster
    was chosen it works there, and with `results` a job that was killed continues.
    """
    chosen = worker_choice.current()
    if chosen.on_ray:
        from holdfast.data.workers import ray_tasks

        yield from ray_tasks.run(
            function, shared, items, crashed=crashed, chunk=chunk, limit_memory=memory_limit, results=results
        )
        return
    count = workers or chosen.count or available_cores()
    if not memory_limit:
        shared = Unlimited(shared)
    try:
        pool = _pool(function, shared, count)
    except (NotImplementedError, ImportError, OSError):  # no semaphores, as in some sandboxes
        bare = shared.shared if isinstance(shared, Unlimited) else shared
        yield from (function(bare, item) for item in items)
        return
    chunks = _chunks(iter(items), chunk)
    waiting: deque[tuple[list[Item], Future[list[Result]]]] = deque()
    try:
        while True:
            while len(waiting) < 4 * count and (part := next(chunks, None)):
                waiting.append((part, _submitted(pool, part)))
            if not waiting:
                return
            part, future = waiting.popleft()
            try:
                yield from future.result()
            except BrokenProcessPool:
                pending = [part, *(other for other, _ in waiting)]
                waiting.clear()
                pool.shutdown(wait=False, cancel_futures=True)
                yield from _one_by_one(
                    function, shared, [item for items in pending for item in items], crashed
                )
                pool = _pool(function, shared, count)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _submitted(pool: ProcessPoolExecutor, part: list[Any]) -> Future[list[Any]]:
    """A pool may break while it is being filled; then this part is one of those to be run again."""
    try:
        return pool.submit(_work, part)
    except BrokenProcessPool as error:
        failed: Future[list[Any]] = Future()
        failed.set_exception(error)
        return failed


def available_cores() -> int:
    """The cores that this process may use, which in a container are fewer than the machine has."""
    with contextlib.suppress(AttributeError, OSError):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1


def _chunks(items: Iterator[Item], size: int) -> Iterator[list[Item]]:
    while part := list(islice(items, size)):
        yield part


def _context() -> Any:
    """Fork where it is safe: it shares the listing without copying it. Never beside TensorFlow's threads."""
    alone = threading.active_count() == 1 and not {"tensorflow", "jax"} & set(sys.modules)
    forks = "fork" in multiprocessing.get_all_start_methods()
    return multiprocessing.get_context("fork" if alone and forks else "spawn")


def _pool(function: Any, shared: Any, count: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(count, _context(), initializer=_start, initargs=(function, shared))


@dataclass(frozen=True, slots=True)
class Unlimited:
    """What is shared by workers whose memory is not limited: those that load a framework."""

    shared: Any


def _start(function: Any, shared: Any) -> None:
    global _function, _shared
    if isinstance(shared, Unlimited):
        _function, _shared = function, shared.shared
        return
    _function, _shared = function, shared
    limit_memory()


def _work(part: list[Any]) -> list[Any]:
    return [_function(_shared, item) for item in part]


def _one_by_one(
    function: Any, shared: Any, items: list[Item], crashed: Callable[[Item], Result]
) -> Iterator[Result]:
    """Only the first crash is unknown, but all that was in flight is lost with the pool."""
    pool = _pool(function, shared, 1)
    for item in items:
        try:
            yield pool.submit(_work, [item]).result()[0]
        except BrokenProcessPool:
            yield crashed(item)
            pool = _pool(function, shared, 1)
    pool.shutdown(wait=False, cancel_futures=True)
