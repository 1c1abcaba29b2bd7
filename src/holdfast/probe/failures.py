"""Exceptions: which left what, and the last line of the user's own code in each."""

from __future__ import annotations

import os
import re
import threading
import types
from types import TracebackType
from typing import Any

from ..journal.events import ExceptionRaised
from . import lines
from .session import Session

_MESSAGE_LIMIT = 4000
_FRAME_LIMIT = 40
_ERRNO_IN_TEXT = re.compile(r"(?:errno = |\[Errno )(\d+)")


def without_probe_frames(trace: TracebackType | None) -> TracebackType | None:
    """The traceback as it would be without the probe's wrappers."""
    kept = [entry for entry in _entries(trace) if not lines.is_probe(entry.tb_frame.f_code.co_filename)]
    rebuilt: TracebackType | None = None
    for entry in reversed(kept):
        rebuilt = types.TracebackType(rebuilt, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return rebuilt


def script_raised(session: Session, error: BaseException) -> None:
    if error is session.last_exception:
        return
    session.last_exception = error
    session.say(describe(session, error, left="script", caught=False))


def left_call(session: Session, error: BaseException, left: str, *, callback: str = "") -> None:
    """An exception on its way out of fit, a callback or a loader. Said once for each place that it leaves."""
    said = session.seen.setdefault("failures", [])
    key = (id(error), left)
    if key in said:
        return
    said.append(key)
    del said[:-32]
    session.say(describe(session, error, left=left, callback=callback))


def describe(
    session: Session, error: BaseException, *, left: str, caught: bool | None = None, callback: str = ""
) -> ExceptionRaised:
    trace = list(lines.frames_of(error.__traceback__))
    message = _text(error)
    place = _user_place(trace, message, error)
    return ExceptionRaised(
        type=type(error).__name__,
        message=message[:_MESSAGE_LIMIT],
        errno=_errno(error, message),
        left=left,
        caught=caught,
        user_line=f"{lines.short(place[0])}:{place[1]}" if place else "",
        user_code=lines.source(place[0], place[1]) if place else "",
        frames=[
            f"{lines.short(file)}:{line} {name}" for file, line, name, _ in trace if not lines.is_probe(file)
        ][-_FRAME_LIMIT:],
        chain=_chain(error),
        callback=callback,
        phase=session.progress.phase.word,
        process="main" if session.role == "main" else "worker",
    )


def watch_threads(session: Session) -> None:
    """Exceptions that end a thread; the hook that was there prints them as before."""
    before = threading.excepthook

    def told(args: Any) -> Any:
        if args.exc_value is not None and session.on("threads"):
            session.guard("threads", left_call, session, args.exc_value, "thread")
        return before(args)

    threading.excepthook = told


def _entries(trace: TracebackType | None) -> list[TracebackType]:
    found = []
    while trace is not None:
        found.append(trace)
        trace = trace.tb_next
    return found


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        return "(an exception whose text cannot be made)"


def _user_place(
    trace: list[Any], message: str, error: BaseException, deeper: int = 4
) -> tuple[str, int] | None:
    """Innermost user code: in a traceback quoted by the message if there is one, for that is deeper; else in ours."""
    for file, line, _ in reversed(lines.in_text(message)):
        if lines.is_user_file(file):
            return file, line
    for file, line, _, _ in reversed(trace):
        if lines.is_user_file(file):
            return file, line
    cause = error.__cause__ or error.__context__
    if cause is not None and deeper:
        found = _user_place(list(lines.frames_of(cause.__traceback__)), _text(cause), cause, deeper - 1)
        if found is not None:
            return found
    outer = (
        lines.caller(trace[0][3]) if trace else None
    )  # the traceback so far holds no user code: who called?
    return (outer.f_code.co_filename, outer.f_lineno) if outer is not None else None


def _chain(error: BaseException) -> list[str]:
    found: list[str] = []
    seen = {id(error)}
    cause = error.__cause__ or error.__context__
    while cause is not None and id(cause) not in seen and len(found) < 8:
        seen.add(id(cause))
        found.append(f"{type(cause).__name__}: {_text(cause)}"[:500])
        cause = cause.__cause__ or cause.__context__
    return found


def _errno(error: BaseException, message: str) -> int | None:
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno
    found = _ERRNO_IN_TEXT.search(message)
    if found and 0 < int(found[1]) < 200:
        return int(found[1])
    for number in (28, 24, 13, 2, 11):  # TensorFlow gives the words only
        if os.strerror(number) in message:
            return number
    return None
