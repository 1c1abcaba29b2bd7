"""Saves by NumPy, pickle and joblib: one that the disk did not take is told, and, after it, those that it took.

A script that catches the error goes on and ends as if it had saved; nothing else tells of it.
"""

from __future__ import annotations

import os
from typing import Any

from ...journal.events import SaveDone, SaveFailed
from ..process import exceptions
from ..runtime import user_lines
from ..runtime.context import ProbeContext
from ..runtime.wrapping import observe
from .model_saving import free_at

PART = "ownsaves"
_MOST_TOLD = 50


def hook_numpy(session: ProbeContext, module: Any) -> None:
    for name in ("save", "savez", "savez_compressed", "savetxt"):
        _watch(session, module, name, target_at=0)


def hook_dump(session: ProbeContext, module: Any) -> None:
    """`pickle` and `joblib`."""
    _watch(session, module, "dump", target_at=1)


def _watch(session: ProbeContext, module: Any, name: str, *, target_at: int) -> None:
    def done(target: str, _: Any) -> None:
        if _told(session):
            session.say(SaveDone(path=target, step=session.progress.step))

    def failed(target: str, error: BaseException) -> None:
        if isinstance(error, OSError) and _told(session) < _MOST_TOLD:
            session.seen["saves_failed"] = _told(session) + 1
            text = f"{type(error).__name__}: {error}"
            session.say(
                SaveFailed(
                    path=target,
                    error=text[:1000],
                    errno=exceptions.errno_of(error, text),
                    free_bytes=free_at(target),
                    where=user_lines.caller_line(),
                )
            )

    observe(
        session, module, name, PART,
        before=lambda args, kwargs: _target(args[target_at] if len(args) > target_at else _named(kwargs)),
        after=done,
        failed=failed,
    )  # fmt: skip


def _told(session: ProbeContext) -> int:
    return int(session.seen.get("saves_failed", 0))


def _named(kwargs: dict[str, Any]) -> Any:
    return next((kwargs[name] for name in ("file", "fname", "filename") if name in kwargs), None)


def _target(given: Any) -> str:
    """The path that was given, or that of an open file."""
    named = given if isinstance(given, os.PathLike) else getattr(given, "name", given)
    return os.fspath(named) if isinstance(named, str | os.PathLike) else ""
