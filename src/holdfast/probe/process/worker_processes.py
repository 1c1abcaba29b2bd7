"""Loader processes that the script starts and how they end, seeds it sets, and Python functions that tf.data calls.

A pool replaces a worker that has died within a tenth of a second and forgets its task. A worker that lived shorter
than the supervisor's interval is seen only here, by its parent.
"""

from __future__ import annotations

import re
import signal
import sys
import threading
import time
from typing import Any

from ...journal.events import SeedSet, WorkerCrashed, WorkerGone, WorkersStarted
from ..runtime import user_lines
from ..runtime.context import ProbeContext
from ..runtime.hook import Hook
from ..runtime.wrapping import observe

PART = "worker_processes"
PART_LOADER = "loader"
_MAX_STARTED = 30  # kinds of starts that are recorded
_MAX_ENDED = 20
_MAX_SEEDS = 20
_FATAL = re.compile(r"Fatal Python error: (.+)")
_FRAME = re.compile(r'  File "(.*?)", line (\d+) in (.*)')


class WorkerLog:
    """What was recorded of worker processes and seeds."""

    def __init__(self, context: ProbeContext) -> None:
        self._context = context
        self.pool = (
            threading.local()
        )  # `.starting` while this thread starts a pool, whose processes are not counted
        self.new_run()

    def new_run(self) -> None:
        self._started: dict[tuple[str, str, str], int] = {}
        self._ended: set[int] = set()
        self._finished: set[int] = set()
        self._seeds: set[tuple[str, str]] = set()

    def started(self, event: WorkersStarted) -> None:
        key = (event.by, event.method, event.where)
        count = self._started[key] = self._started.get(key, 0) + 1
        if count & (count - 1) == 0 and len(self._started) <= _MAX_STARTED:  # at each doubling
            self._context.record(event)

    def seed_set(self, name: str, seed: Any) -> None:
        where = user_lines.caller_line()
        if (name, where) not in self._seeds and len(self._seeds) < _MAX_SEEDS:
            self._seeds.add((name, where))
            plain = int(seed) if isinstance(seed, int) else None
            self._context.record(SeedSet(by=name, seed=plain, where=where))

    def polled(self, popen: Any, code: int | None) -> None:
        """SIGTERM is how a pool ends its workers on purpose. One that finished is no death, which has to be known too:
        from outside the two look alike."""
        well = code == 0
        ended = self._finished if well else self._ended
        if code is None or code == -signal.SIGTERM or popen.pid in ended or len(ended) >= _MAX_ENDED:
            return
        ended.add(popen.pid)
        lived_s = time.monotonic() - getattr(popen, "_holdfast_began", time.monotonic())
        self._context.record(
            WorkerGone(
                worker_pid=popen.pid, name="a worker", lived_s=round(lived_s, 1), last_state=ended_on(code)
            )
        )
        if not well:
            self._record_crash(popen.pid)

    def _record_crash(self, pid: int) -> None:
        """The worker's own fault handler has written where it was."""
        path = self._context.folder.stacks / f"faulthandler-{pid}.txt"
        text = path.read_text(errors="replace") if path.exists() else ""
        what = _FATAL.findall(text)
        if not what:
            return
        stack = text.rpartition("Current thread ")[2].partition("\n\n")[0]
        own = next((frame for frame in _FRAME.findall(stack) if user_lines.is_user_file(frame[0])), None)
        where = f"{user_lines.short(own[0])}:{own[1]} in {own[2]}" if own is not None else ""
        self._context.record(WorkerCrashed(worker_pid=pid, what=what[-1], where=where))


def hook_popen(context: ProbeContext, module: Any) -> None:
    """`Popen` of fork and spawn, and that of the fork server."""
    observe(
        context, module.Popen, "__init__", PART,
        before=lambda args, kwargs: args[0],
        after=lambda popen, _: setattr(popen, "_holdfast_began", time.monotonic()),
    )  # fmt: skip
    observe(
        context, module.Popen, "poll", PART,
        before=lambda args, kwargs: args[0],
        after=lambda popen, code: context.workers.polled(popen, code),
    )  # fmt: skip


def ended_on(code: int) -> str:
    """An exit code as `multiprocessing` gives it: negative for a signal."""
    if code >= 0:
        return f"exit code {code}"
    names = {known.value: known.name for known in signal.Signals}
    return names.get(-code, f"signal {-code}")


def hook_process(context: ProbeContext, module: Any) -> None:
    observe(
        context, module.BaseProcess, "start", PART,
        before=lambda args, kwargs: _process_starts(context, args[0]),
    )  # fmt: skip
    observe(
        context,
        module.BaseProcess,
        "_bootstrap",
        PART,
        before=lambda args, kwargs: _watch_run(context, args[0]),
    )


def _watch_run(context: ProbeContext, process: Any) -> None:
    """In the child: `multiprocessing` prints what leaves `run`, and the parent never learns of it. `run` may be a
    method of the object itself, so that the object and not its class is wrapped."""
    run = process.run

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        try:
            return run(*args, **kwargs)
        except Exception as error:
            context.guard(PART_LOADER, context.exceptions.left_call, error, "loader")
            raise

    process.run = wrapped


def hook_pool(context: ProbeContext, module: Any) -> None:
    observe(
        context, module.Pool, "__init__", PART,
        before=lambda args, kwargs: _pool_begins(context, args[0]),
        after=lambda pool, _: _pool_started(context, pool),
        failed=lambda pool, error: setattr(context.workers.pool, "starting", False),
    )  # fmt: skip


def hook_keras_seed(context: ProbeContext, module: Any) -> None:
    _watch_seed(context, module, "set_random_seed")


def hook_tf_seed(context: ProbeContext, module: Any) -> None:
    for name in ("set_seed", "set_random_seed"):
        _watch_seed(context, module, name)


def hook_python_functions(context: ProbeContext, module: Any) -> None:
    """Functions behind py_function, numpy_function and from_generator: here their exceptions still have frames."""
    for name in ("FuncRegistry", "EagerFunc"):
        kind = getattr(module, name, None)
        if kind is not None:
            observe(
                context,
                kind,
                "__call__",
                PART_LOADER,
                failed=lambda _, error: _function_failed(context, error),
            )


def _function_failed(context: ProbeContext, error: BaseException) -> None:
    if not isinstance(error, (StopIteration, GeneratorExit)):
        context.exceptions.left_call(error, "loader")


def _process_starts(context: ProbeContext, process: Any) -> None:
    if getattr(context.workers.pool, "starting", False):
        return
    method = str(getattr(process, "_start_method", None) or _default_method())
    context.workers.started(
        WorkersStarted(
            by="Process",
            method=method,
            count=1,
            after_framework=_framework_started(),
            where=user_lines.caller_line(),
        )
    )


def _pool_begins(context: ProbeContext, pool: Any) -> Any:
    context.workers.pool.starting = True
    return pool


def _pool_started(context: ProbeContext, pool: Any) -> None:
    context.workers.pool.starting = False
    start_context = getattr(pool, "_ctx", None)
    threads = type(pool).__name__ == "ThreadPool"
    method = "thread" if threads else str(getattr(start_context, "_name", None) or _default_method())
    by = "PyDataset" if _called_by_py_dataset() else ("ThreadPool" if threads else "multiprocessing.Pool")
    count = int(getattr(pool, "_processes", 0) or 0)
    context.workers.started(
        WorkersStarted(
            by=by,
            method=method,
            count=count,
            after_framework=_framework_started(),
            where=user_lines.caller_line(),
        )
    )


def _watch_seed(context: ProbeContext, module: Any, name: str) -> None:
    def before(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        context.workers.seed_set(name, args[0] if args else next(iter(kwargs.values()), None))

    observe(context, module, name, PART, before=before)


def _default_method() -> str:
    module = sys.modules.get("multiprocessing.context")
    default = getattr(module, "_default_context", None)
    actual = getattr(default, "_actual_context", None) or getattr(default, "_default_context", None)
    return str(getattr(actual, "_name", "") or "")


def _framework_started() -> bool:
    """Whether TensorFlow or JAX has its threads already."""
    eager = sys.modules.get("tensorflow.python.eager.context")
    inner = getattr(eager, "_context", None)
    tensorflow = getattr(inner, "_context_handle", None) is not None
    bridge = sys.modules.get("jax._src.xla_bridge")
    return tensorflow or bool(getattr(bridge, "_backends", None))


def _called_by_py_dataset() -> bool:
    frame: Any = sys._getframe(1)
    while frame is not None:
        if "py_dataset_adapter" in frame.f_code.co_filename:
            return True
        frame = frame.f_back
    return False


HOOKS = (
    Hook(PART, "multiprocessing.process", hook_process),
    Hook(PART, "multiprocessing.pool", hook_pool),
    Hook(PART, "multiprocessing.popen_fork", hook_popen),
    Hook(PART, "multiprocessing.popen_forkserver", hook_popen),
)
KERAS_HOOKS = (Hook(PART, "keras.src.utils.rng_utils", hook_keras_seed),)
KERAS2_HOOKS = (Hook(PART, "utils.tf_utils", hook_keras_seed),)
TENSORFLOW_HOOKS = (
    Hook(PART, "tensorflow.python.framework.random_seed", hook_tf_seed),
    Hook(PART, "tensorflow.python.ops.script_ops", hook_python_functions),
)
