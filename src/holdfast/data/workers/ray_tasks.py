"""One function over many items on a Ray cluster: in order, with a bounded number in flight, as `process_pool.run`.

A task is a shard of the listing. What all tasks share is stored once in the cluster and read once by each worker. Ray
starts a task again when its worker or its node is lost; when that does not help, its items are run one by one, and
the one that ends its process is named. Finished shards are kept until the job is done, so that a job whose driver was
killed continues at the first that is missing.
"""

from __future__ import annotations

import contextlib
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, TypeVar

from holdfast.data.workers import ray_cluster, worker_choice
from holdfast.data.workers.memory_limit import limit_memory as set_limit
from holdfast.data.workers.shard_results import ShardResults

Item = TypeVar("Item")
Result = TypeVar("Result")

RETRIES = 3  # of a task whose worker or node was lost
TASKS_A_WORKER = 64  # then its process is replaced: what a codec leaks ends with it
IN_FLIGHT_A_CORE = 2

_job: tuple[str, Any, Any] | None = None  # of this worker: the key, the function and what is shared


def run(
    function: Callable[[Any, Item], Result],
    shared: Any,
    items: Iterable[Item],
    *,
    crashed: Callable[[Item], Result],
    chunk: int,
    limit_memory: bool = True,
    results: ShardResults | None = None,
) -> Iterator[Result]:
    ray = ray_cluster.import_ray()
    task = ray.remote(num_cpus=1, max_retries=RETRIES, max_calls=TASKS_A_WORKER)(_work)
    handle = [ray.put((function, shared, os.getcwd(), limit_memory))]
    remaining = iter(items)
    waiting: deque[tuple[list[Item], Any, list[Result] | None]] = deque()
    most = IN_FLIGHT_A_CORE * ray_cluster.cores()
    try:
        while True:
            while len(waiting) < most and (part := list(islice(remaining, chunk))):
                kept = results.read(part) if results is not None else None
                waiting.append((part, None if kept is not None else task.remote(handle, part), kept))
            if not waiting:
                break
            part, ref, kept = waiting.popleft()
            if kept is None:
                kept = _result(ray, task, handle, part, ref, crashed)
                if results is not None:
                    results.write(part, kept)
            yield from kept
        if results is not None:
            worker_choice.when_done(results.remove)
    finally:
        for _, ref, _ in waiting:
            if ref is not None:
                with contextlib.suppress(Exception):
                    ray.cancel(ref)


def _result(
    ray: Any, task: Any, handle: Any, part: list[Any], ref: Any, crashed: Callable[[Any], Any]
) -> list[Any]:
    try:
        found: list[Any] = ray.get(ref)
        return found
    except ray.exceptions.RayTaskError as error:
        raise _own_error(error) from None
    except ray.exceptions.RayError:  # the process or the node was lost, and again at every retry
        return [_alone(ray, task, handle, item, crashed) for item in part]


def _alone(ray: Any, task: Any, handle: Any, item: Any, crashed: Callable[[Any], Any]) -> Any:
    for _ in range(2):  # a node may have been lost again
        try:
            return ray.get(task.options(max_retries=0).remote(handle, [item]))[0]
        except ray.exceptions.RayTaskError as error:
            raise _own_error(error) from None
        except ray.exceptions.RayError:
            continue
    return crashed(item)


def _own_error(error: Any) -> BaseException:
    """What was raised in the worker, as it would have been raised here."""
    return error.cause if isinstance(error.cause, BaseException) else RuntimeError(str(error))


# -- in a worker ---------------------------------------------------------------------------------------


def _work(handle: list[Any], items: list[Any]) -> list[Any]:
    """The handle is in a list, so that Ray hands over the reference and not a copy for every task."""
    global _job
    key = handle[0].hex()
    if _job is None or _job[0] != key:
        function, shared, folder, limit_memory = ray_cluster.import_ray().get(handle[0])
        with contextlib.suppress(OSError):  # data of absolute paths or in a bucket needs no folder
            os.chdir(folder)
        if limit_memory:
            set_limit()
        _job = (key, function, shared)
    return [_job[1](_job[2], item) for item in items]
