"""An exception on its way from a worker process to the training: what was at hand there.

The training gets it as a text. The frames, and the files that their variables name, are in the worker alone.
"""

from __future__ import annotations

import sys
from typing import Any

from ..runtime.context import ProbeContext
from ..runtime.hook import Hook
from ..runtime.wrapping import observe

PART = "worker_exceptions"


def _hook_pool(context: ProbeContext, module: Any) -> None:
    _observe_wrapper(context, module.ExceptionWithTraceback)


def _hook_futures(context: ProbeContext, module: Any) -> None:
    _observe_wrapper(context, module._ExceptionWithTraceback)


def _hook_torch(context: ProbeContext, module: Any) -> None:
    """Made while the exception is being handled, and without it."""
    _observe_wrapper(context, module.ExceptionWrapper)


def _observe_wrapper(context: ProbeContext, kind: type) -> None:
    def before(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        given = args[1] if len(args) > 1 else kwargs.get("exc_info")
        error = given if isinstance(given, BaseException) else (given or sys.exc_info())[1]
        if isinstance(error, Exception) and (context.forked or context.role != "main"):
            context.exceptions.leaves_worker(error)

    observe(context, kind, "__init__", PART, before=before)


HOOKS = (
    Hook(PART, "multiprocessing.pool", _hook_pool),
    Hook(PART, "concurrent.futures.process", _hook_futures),
    Hook(PART, "torch._utils", _hook_torch),
)
