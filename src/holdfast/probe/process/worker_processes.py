"""Loader processes that the script starts, seeds it sets, and Python functions that tf.data calls."""

from __future__ import annotations

import sys
import threading
from typing import Any

from ...journal.events import SeedSet, WorkersStarted
from ..runtime import user_lines
from ..runtime.context import ProbeContext
from ..runtime.wrapping import observe
from . import exceptions

PART = "workers"
_SAY_AT_MOST = 30
_inside_pool = threading.local()


def hook_process(session: ProbeContext, module: Any) -> None:
    observe(
        session, module.BaseProcess, "start", PART,
        before=lambda args, kwargs: None if getattr(_inside_pool, "on", False) else _process_starts(session, args[0]),
    )  # fmt: skip
    observe(
        session,
        module.BaseProcess,
        "_bootstrap",
        PART,
        before=lambda args, kwargs: _watch_run(session, args[0]),
    )


def _watch_run(session: ProbeContext, process: Any) -> None:
    """In the child: `multiprocessing` prints what leaves `run` and says nothing to anybody else."""
    run = process.run

    def told(*args: Any, **kwargs: Any) -> Any:
        try:
            return run(*args, **kwargs)
        except Exception as error:
            session.guard("loader", exceptions.left_call, session, error, "loader")
            raise

    process.run = told


def hook_pool(session: ProbeContext, module: Any) -> None:
    observe(
        session, module.Pool, "__init__", PART,
        before=lambda args, kwargs: _pool_begins(args[0]),
        after=lambda pool, _: _pool_started(session, pool),
        failed=lambda pool, error: setattr(_inside_pool, "on", False),
    )  # fmt: skip


def hook_keras_seed(session: ProbeContext, module: Any) -> None:
    _watch_seed(session, module, "set_random_seed")


def hook_tf_seed(session: ProbeContext, module: Any) -> None:
    for name in ("set_seed", "set_random_seed"):
        _watch_seed(session, module, name)


def hook_python_functions(session: ProbeContext, module: Any) -> None:
    """Functions behind py_function, numpy_function and from_generator: here their exceptions still have frames."""
    for name in ("FuncRegistry", "EagerFunc"):
        kind = getattr(module, name, None)
        if kind is not None:
            observe(
                session, kind, "__call__", "loader", failed=lambda _, error: _function_failed(session, error)
            )


def _function_failed(session: ProbeContext, error: BaseException) -> None:
    if not isinstance(error, StopIteration | GeneratorExit):
        exceptions.left_call(session, error, "loader")


def _process_starts(session: ProbeContext, process: Any) -> None:
    method = str(getattr(process, "_start_method", None) or _default_method())
    _say(
        session,
        WorkersStarted(
            by="Process", method=method, count=1, after_framework=_started(), where=user_lines.caller_line()
        ),
    )


def _pool_begins(pool: Any) -> Any:
    _inside_pool.on = True
    return pool


def _pool_started(session: ProbeContext, pool: Any) -> None:
    _inside_pool.on = False
    context = getattr(pool, "_ctx", None)
    threads = type(pool).__name__ == "ThreadPool"
    method = "thread" if threads else str(getattr(context, "_name", None) or _default_method())
    by = "PyDataset" if _called_by_py_dataset() else ("ThreadPool" if threads else "multiprocessing.Pool")
    count = int(getattr(pool, "_processes", 0) or 0)
    _say(
        session,
        WorkersStarted(
            by=by, method=method, count=count, after_framework=_started(), where=user_lines.caller_line()
        ),
    )


def _say(session: ProbeContext, event: WorkersStarted) -> None:
    counts = session.seen.setdefault("workers_said", {})
    key = (event.by, event.method, event.where)
    counts[key] = counts.get(key, 0) + 1
    if counts[key] & (counts[key] - 1) == 0 and len(counts) <= _SAY_AT_MOST:  # at each doubling
        session.say(event)


def _watch_seed(session: ProbeContext, module: Any, name: str) -> None:
    observe(
        session, module, name, "seeds",
        before=lambda args, kwargs: _seed_set(session, name, args[0] if args else next(iter(kwargs.values()), None)),
    )  # fmt: skip


def _seed_set(session: ProbeContext, name: str, seed: Any) -> None:
    where = user_lines.caller_line()
    said = session.seen.setdefault("seeds_said", set())
    if (name, where) not in said and len(said) < 20:
        said.add((name, where))
        session.say(SeedSet(by=name, seed=int(seed) if isinstance(seed, int) else None, where=where))


def _default_method() -> str:
    context = sys.modules.get("multiprocessing.context")
    default = getattr(context, "_default_context", None)
    actual = getattr(default, "_actual_context", None) or getattr(default, "_default_context", None)
    return str(getattr(actual, "_name", "") or "")


def _started() -> bool:
    """Whether TensorFlow or JAX has its threads already."""
    context = sys.modules.get("tensorflow.python.eager.context")
    inner = getattr(context, "_context", None)
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
