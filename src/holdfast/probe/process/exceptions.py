"""Exceptions: which left what, and the last line of the user's own code in each."""

from __future__ import annotations

import os
import re
import threading
import types
from types import TracebackType
from typing import Any

from ...journal.events import ExceptionRaised, Left, SignalSeen
from ..runtime import frame_locals, user_lines
from ..runtime.context import ProbeContext
from . import array_shapes

_MESSAGE_LIMIT = 4000
_FRAME_LIMIT = 40
_PATH_LIMIT = 20
_SAY_FIRST = 10  # failures of one kind
_PROBE_FRAME = re.compile(
    r' *File "/?'
    + re.escape(user_lines.PROBE_FOLDER.lstrip("/"))
    + r'[^"]*", line \d+, in \w+\n(?: {4}[^\n]*\n)*\n?'
)
_REMOTE = re.compile(r'RemoteTraceback: \n"""\n(.*?)"""', re.DOTALL)
_PATH_IN_TEXT = re.compile(
    r"(?:/|\./|[\w.-]+/)[\w./@+=%-]*\.\w{1,9}\b|[\w-]+\.(?:jpe?g|png|tfrecords?|h5|keras)\b"
)
_ERRNO_IN_TEXT = re.compile(r"(?:errno = |\[Errno )(\d+)")


def without_probe_frames(trace: TracebackType | None) -> TracebackType | None:
    """The traceback as it would be without the probe's wrappers."""
    kept = [entry for entry in _entries(trace) if not user_lines.is_probe(entry.tb_frame.f_code.co_filename)]
    rebuilt: TracebackType | None = None
    for entry in reversed(kept):
        rebuilt = types.TracebackType(rebuilt, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return rebuilt


def script_raised(session: ProbeContext, error: BaseException) -> None:
    if error is session.last_exception:
        return
    session.last_exception = error
    if isinstance(error, KeyboardInterrupt) and not session.seen.get("interrupted"):
        session.say(SignalSeen(signal="SIGINT"))
    session.say(describe(session, error, left="script", caught=False))


def left_call(session: ProbeContext, error: BaseException, left: Left, *, callback: str = "") -> None:
    """An exception on its way out of fit, a callback or a loader. Said once for each place that it leaves."""
    said = session.seen.setdefault("failures", [])
    key = (id(error), left, session.progress.fit, session.progress.step)  # an id alone is used again
    if key in said:
        return
    said.append(key)
    del said[:-32]
    if not _again_and_again(session, error, left):
        from ..state import fit_log  # late: it is not needed by most processes that fail

        fit_log.tell_current(session)
        session.say(describe(session, error, left=left, callback=callback))


def _again_and_again(session: ProbeContext, error: BaseException, left: str) -> bool:
    """Whether it has been said often enough: a loader may pass over a bad picture at every step. Its kind, its place
    and what it left are counted; it is said the first times, then at each doubling."""
    place = _innermost(error.__traceback__)
    counts: dict[Any, int] = session.seen.setdefault("failures_counted", {})
    key = (type(error).__name__, place, left)
    count = counts[key] = counts.get(key, 0) + 1
    return count > _SAY_FIRST and count & (count - 1) != 0


def _innermost(trace: TracebackType | None) -> tuple[str, int]:
    """The last line of the user's own, or of anybody's."""
    places = [
        (file, line) for file, line, _, _ in user_lines.frames_of(trace) if not user_lines.is_probe(file)
    ]
    own = [place for place in places if user_lines.is_user_file(place[0])]
    return (own or places or [("", 0)])[-1]


def describe(
    session: ProbeContext, error: BaseException, *, left: Left, caught: bool | None = None, callback: str = ""
) -> ExceptionRaised:
    trace = list(user_lines.frames_of(error.__traceback__))
    message = _text(error)
    session.guard("pieces", array_shapes.look, session, error, message)
    place = _user_place(trace, message, error)
    paths = _paths(message, trace)
    return ExceptionRaised(
        type=type(error).__name__,
        message=message[:_MESSAGE_LIMIT],
        errno=errno_of(error, message),
        left=left,
        caught=caught,
        user_line=f"{user_lines.short(place[0])}:{place[1]}" if place else "",
        user_code=user_lines.source(place[0], place[1]) if place else "",
        frames=[
            f"{user_lines.short(file)}:{line} {name}"
            for file, line, name, _ in trace
            if not user_lines.is_probe(file)
        ][-_FRAME_LIMIT:],
        chain=_chain(error),
        callback=callback,
        phase=session.progress.phase.label,
        process="main" if session.role == "main" else "worker",
        paths=paths,
        paths_there=[path for path in paths if os.path.exists(path)],
    )


def watch_threads(session: ProbeContext) -> None:
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
    """Its message, without the probe's frames, which TensorFlow quotes from the place where a node was made."""
    try:
        return _PROBE_FRAME.sub("", str(error))
    except Exception:
        return "(an exception whose text cannot be made)"


def _user_place(
    trace: list[Any], message: str, error: BaseException, deeper: int = 4
) -> tuple[str, int] | None:
    """Innermost user code: in a traceback quoted by the message if there is one, for that is deeper; else in ours."""
    if (remote := _worker_place(message, error)) is not None:
        return remote
    quoted = user_lines.in_text(message)
    for index in range(len(quoted) - 1, 0, -1):
        file, line, _ = quoted[index]
        if user_lines.is_user_file(file) and any(
            not user_lines.is_user_file(above) for above, _, _ in quoted[:index]
        ):
            return (
                file,
                line,
            )  # called by a library: the first frames are those that called fit, perhaps another one
    for file, line, _, _ in reversed(trace):
        if user_lines.is_user_file(file):
            return file, line
    cause = error.__cause__ or error.__context__
    if cause is not None and deeper:
        found = _user_place(list(user_lines.frames_of(cause.__traceback__)), _text(cause), cause, deeper - 1)
        if found is not None:
            return found
    outer = (
        user_lines.caller(trace[0][3]) if trace else None
    )  # the traceback so far holds no user code: who called?
    return (outer.f_code.co_filename, outer.f_lineno) if outer is not None else None


def _worker_place(message: str, error: BaseException) -> tuple[str, int] | None:
    """In a worker of a pool, which sends its traceback along as a text."""
    cause = error.__cause__
    told = _REMOTE.search(message)
    text = str(cause) if type(cause).__name__.endswith("RemoteTraceback") else told[1] if told else ""
    own = [(file, line) for file, line, _ in user_lines.in_text(text) if user_lines.is_user_file(file)]
    return own[-1] if own else None


def _paths(message: str, trace: list[Any]) -> list[str]:
    """Files that the message names, or that variables of the user's frames hold, innermost first."""
    found = [
        match.strip("'\"") for match in _PATH_IN_TEXT.findall(message) if not user_lines.is_source(match)
    ]
    for file, _, _, frame in reversed(trace):
        if user_lines.is_user_file(file):
            held = [
                value
                for name, value in list(frame_locals.of(frame).items())[:50]
                if not name.startswith("__")
            ]
            found.extend(path for value in held if (path := _path_of(value)))
    return list(dict.fromkeys(found))[:_PATH_LIMIT]


def _path_of(value: Any) -> str:
    """The value as a path, when it is a short text that names a file which is there."""
    if (
        type(value).__name__ == "EagerTensor"
        and getattr(value.dtype, "name", "") == "string"
        and not len(value.shape)
    ):
        value = value.numpy()
    if hasattr(value, "__fspath__"):
        value = os.fspath(value)
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    short = isinstance(value, str) and 2 < len(value) < 400 and "\0" not in value and "\n" not in value
    return str(value) if short and ("/" in value or "." in value) and os.path.isfile(value) else ""


def _chain(error: BaseException) -> list[str]:
    found: list[str] = []
    seen = {id(error)}
    cause = error.__cause__ or error.__context__
    while cause is not None and id(cause) not in seen and len(found) < 8:
        seen.add(id(cause))
        found.append(f"{type(cause).__name__}: {_text(cause)}"[:500])
        cause = cause.__cause__ or cause.__context__
    return found


def errno_of(error: BaseException, message: str) -> int | None:
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno
    found = _ERRNO_IN_TEXT.search(message)
    if found and 0 < int(found[1]) < 200:
        return int(found[1])
    for number in (28, 122, 27, 24, 13, 2, 11):  # TensorFlow gives the words only
        if os.strerror(number) in message:
            return number
    return None
