"""Saves by NumPy, pickle and joblib: one that the disk did not take is recorded, and, after it, those that it took.

A script that catches the error continues and ends as if it had saved; nothing else shows it.
"""

from __future__ import annotations

import os
from typing import Any

from ...journal.events import SaveDone, SaveFailed
from ..runtime import user_lines
from ..runtime.context import ProbeContext
from ..runtime.error_numbers import errno_of
from ..runtime.hook import Hook
from ..runtime.wrapping import observe
from .model_saving import free_at

PART = "array_saving"
_MAX_RECORDED = 50


def hook_numpy(context: ProbeContext, module: Any) -> None:
    for name in ("save", "savez", "savez_compressed", "savetxt"):
        _watch(context, module, name, target_at=0)


def hook_dump(context: ProbeContext, module: Any) -> None:
    """`pickle` and `joblib`."""
    _watch(context, module, "dump", target_at=1)


def _watch(context: ProbeContext, module: Any, name: str, *, target_at: int) -> None:
    def done(target: str, _: Any) -> None:
        if context.saves.failures:
            context.record(SaveDone(path=target, step=context.heartbeat.step))

    def failed(target: str, error: BaseException) -> None:
        if isinstance(error, OSError) and context.saves.failures < _MAX_RECORDED:
            context.saves.failures += 1
            text = f"{type(error).__name__}: {error}"
            context.record(
                SaveFailed(
                    path=target,
                    error=text[:1000],
                    errno=errno_of(error, text),
                    free_bytes=free_at(target),
                    where=user_lines.caller_line(),
                )
            )

    observe(
        context, module, name, PART,
        before=lambda args, kwargs: _target(args[target_at] if len(args) > target_at else _named(kwargs)),
        after=done,
        failed=failed,
    )  # fmt: skip


def _named(kwargs: dict[str, Any]) -> Any:
    return next((kwargs[name] for name in ("file", "fname", "filename") if name in kwargs), None)


def _target(given: Any) -> str:
    """The path that was given, or that of an open file."""
    named = given if isinstance(given, os.PathLike) else getattr(given, "name", given)
    return os.fspath(named) if isinstance(named, (str, os.PathLike)) else ""


HOOKS = (
    Hook(PART, "numpy", hook_numpy),
    Hook(PART, "pickle", hook_dump),
    Hook(PART, "joblib", hook_dump),
)
