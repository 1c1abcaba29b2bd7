"""Exceptions: which left what, and the last line of the user's own code in each."""

from __future__ import annotations

import os
import re
import sys
import threading
import types
from collections import Counter, deque
from types import TracebackType
from typing import Any

from ...journal.events import ArrayShapesDiffered, ExceptionRaised, Left, SignalSeen
from ..runtime import frame_locals, user_lines
from ..runtime.context import ProbeContext
from ..runtime.error_numbers import errno_of
from ..runtime.wrapping import observe
from . import at_hand, named_paths

PART = "exceptions"
PART_SHAPES = "array_shapes"
_MESSAGE_LIMIT = 4000
_FRAME_LIMIT = 40
_PATH_LIMIT = 20
_ALWAYS_FIRST = 10  # failures of one kind
_REMEMBERED = 32  # exceptions on their way out
_MAX_ARRAYS = 100_000
_PROBE_FRAME = re.compile(
    r' {0,8}File "/?'
    + re.escape(user_lines.PROBE_FOLDER.lstrip("/"))
    + r'[^"]*", line \d+, in \w+\n(?: {4}[^\n]*\n)*\n?'
)
_REMOTE = re.compile(r'RemoteTraceback: \n"""\n(.*?)"""', re.DOTALL)
_PATH_IN_TEXT = re.compile(
    r"(?:/|\./|[\w.-]+/)[\w./@+=%-]*\.\w{1,9}\b|[\w-]+\.(?:jpe?g|png|tfrecords?|h5|keras)\b"
)
_SHAPES_DIFFER = re.compile(
    r"all input arrays must have the same shape|inhomogeneous shape|could not broadcast input array"
)


def without_probe_frames(trace: TracebackType | None) -> TracebackType | None:
    """The traceback as it would be without the probe's wrappers."""
    kept = [entry for entry in _entries(trace) if not user_lines.is_probe(entry.tb_frame.f_code.co_filename)]
    rebuilt: TracebackType | None = None
    for entry in reversed(kept):
        rebuilt = types.TracebackType(rebuilt, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return rebuilt


class ExceptionLog:
    """Exceptions that left something, each recorded once for every place that it left."""

    def __init__(self, context: ProbeContext) -> None:
        self._context = context
        self.interrupted = False  # SIGINT is recorded already, where its handler ran
        self._last: BaseException | None = None
        self._left: deque[tuple[Any, ...]] = deque(maxlen=_REMEMBERED)
        self.new_run()

    def new_run(self) -> None:
        self._counts: dict[tuple[Any, ...], int] = {}
        self._from_worker = 0
        self._shapes_of: int | None = None  # the id of the exception whose array shapes are recorded

    def script_raised(self, error: BaseException) -> None:
        if error is self._last:
            return
        self._last = error
        if isinstance(error, KeyboardInterrupt) and not self.interrupted:
            self._context.record(SignalSeen(signal="SIGINT"))
        described = self.describe(error, left="script", caught=False)
        self._context.record(described)
        self._context.guard(at_hand.PART, self._record_at_hand, error, described.paths)

    def ended_in_exit(self, error: Exception) -> None:
        """The script handles it by `sys.exit`, and nothing else will say what it was."""
        described = self.describe(error, left="exit", caught=True)
        self._context.record(described)
        self._context.guard(at_hand.PART, self._record_at_hand, error, described.paths)

    def leaves_worker(self, error: Exception) -> None:
        """Of a worker process, for the training to raise again."""
        self._from_worker += 1
        if self._from_worker <= _ALWAYS_FIRST:
            trace = list(user_lines.frames_of(error.__traceback__))
            self._record_at_hand(error, _paths(_text(error)[:_MESSAGE_LIMIT], trace))

    def left_call(self, error: BaseException, left: Left, *, callback: str = "") -> None:
        """An exception on its way out of fit, a callback or a loader."""
        heartbeat = self._context.heartbeat
        key = (id(error), left, heartbeat.fit, heartbeat.step)  # an id alone is used again
        if key in self._left:
            return
        self._left.append(key)
        if not self._is_repeated(error, left):
            self._context.fits.record_current()
            self._context.record(self.describe(error, left=left, callback=callback))

    def _is_repeated(self, error: BaseException, left: str) -> bool:
        """Whether it was recorded often enough: a loader may pass over a bad image at every step. Its kind, its place
        and what it left are counted; it is recorded the first times, then at each doubling."""
        key = (type(error).__name__, _innermost(error.__traceback__), left)
        count = self._counts[key] = self._counts.get(key, 0) + 1
        return count > _ALWAYS_FIRST and count & (count - 1) != 0

    def describe(
        self, error: BaseException, *, left: Left, caught: bool | None = None, callback: str = ""
    ) -> ExceptionRaised:
        trace = list(user_lines.frames_of(error.__traceback__))
        message = _text(error)
        self._context.guard(PART_SHAPES, self._record_shapes, error, message)
        location = _user_location(trace, message, error)
        paths = _paths(message[:_MESSAGE_LIMIT], trace)
        frames = [
            f"{user_lines.short(file)}:{line} {name}"
            for file, line, name, _ in trace
            if not user_lines.is_probe(file)
        ]
        return ExceptionRaised(
            type=type(error).__name__,
            message=message[:_MESSAGE_LIMIT],
            errno=errno_of(error, message),
            left=left,
            caught=caught,
            user_line=f"{user_lines.short(location[0])}:{location[1]}" if location else "",
            user_code=user_lines.source(location[0], location[1]) if location else "",
            frames=frames[-_FRAME_LIMIT:],
            chain=_chain(error),
            callback=callback,
            phase=self._context.heartbeat.phase.label,
            process="main" if self._context.role == "main" else "worker",
            paths=paths,
            paths_there=[path for path in paths if os.path.exists(path)],
        )

    def _record_at_hand(self, error: BaseException, paths: list[str]) -> None:
        event = at_hand.seen(error, paths) if isinstance(error, Exception) else None
        if event is not None:
            self._context.record(event)

    def _record_shapes(self, error: BaseException, message: str) -> None:
        """After a failure to put arrays together: which of them has another shape than the rest. NumPy does not name
        it, but the list that it was given is still a variable in a frame of the exception."""
        if not _SHAPES_DIFFER.search(message) or self._shapes_of == id(error):
            return
        event = odd_shape(error)
        if event is not None:
            self._shapes_of = id(error)
            self._context.record(event)


def watch_threads(context: ProbeContext) -> None:
    """Exceptions that end a thread; they are printed as before."""

    def thread_raised(error: BaseException | None) -> None:
        if error is not None:
            context.guard(PART, context.exceptions.left_call, error, "thread")

    if sys.version_info < (
        3,
        8,
    ):  # there is no hook yet: what is printed is formatted while it is being handled
        observe(context, threading, "_format_exc", PART, before=lambda *_: thread_raised(sys.exc_info()[1]))
        return
    before = threading.excepthook

    def wrapped(args: Any) -> Any:
        thread_raised(args.exc_value)
        return before(args)

    threading.excepthook = wrapped


def _innermost(trace: TracebackType | None) -> tuple[str, int]:
    """The last line of the user's own, or of anybody's."""
    places = [
        (file, line) for file, line, _, _ in user_lines.frames_of(trace) if not user_lines.is_probe(file)
    ]
    own = [place for place in places if user_lines.is_user_file(place[0])]
    return (own or places or [("", 0)])[-1]


def _entries(trace: TracebackType | None) -> list[TracebackType]:
    entries = []
    while trace is not None:
        entries.append(trace)
        trace = trace.tb_next
    return entries


def _text(error: BaseException) -> str:
    """Its message, without the probe's frames, which TensorFlow quotes from the place where a node was made."""
    try:
        return _PROBE_FRAME.sub("", str(error))
    except Exception:
        return "(an exception whose text cannot be made)"


def _user_location(
    trace: list[Any], message: str, error: BaseException, deeper: int = 4
) -> tuple[str, int] | None:
    """Innermost user code: in a traceback quoted by the message if there is one, for that is deeper; else in ours."""
    remote = _worker_location(message, error)
    if remote is not None:
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
        location = _user_location(
            list(user_lines.frames_of(cause.__traceback__)), _text(cause), cause, deeper - 1
        )
        if location is not None:
            return location
    # The traceback so far has no user code: who called?
    outer = user_lines.caller(trace[0][3]) if trace else None
    return (outer.f_code.co_filename, outer.f_lineno) if outer is not None else None


def _worker_location(message: str, error: BaseException) -> tuple[str, int] | None:
    """In a worker of a pool, which sends its traceback along as a text."""
    cause = error.__cause__
    remote = _REMOTE.search(message)
    text = str(cause) if type(cause).__name__.endswith("RemoteTraceback") else remote[1] if remote else ""
    own = [(file, line) for file, line, _ in user_lines.in_text(text) if user_lines.is_user_file(file)]
    return own[-1] if own else None


def _paths(message: str, trace: list[Any]) -> list[str]:
    """Files that the message names, or that variables of the user's frames name, innermost first."""
    paths = [
        match.strip("'\"") for match in _PATH_IN_TEXT.findall(message) if not user_lines.is_source(match)
    ]
    for file, _, _, frame in reversed(trace):
        if user_lines.is_user_file(file):
            values = [
                value
                for name, value in list(frame_locals.of(frame).items())[:50]
                if not name.startswith("__")
            ]
            paths.extend(filter(None, map(named_paths.path_of, values)))
    return list(dict.fromkeys(paths))[:_PATH_LIMIT]


def _chain(error: BaseException) -> list[str]:
    chain: list[str] = []
    seen = {id(error)}
    cause = error.__cause__ or error.__context__
    while cause is not None and id(cause) not in seen and len(chain) < 8:
        seen.add(id(cause))
        chain.append(f"{type(cause).__name__}: {_text(cause)}"[:500])
        cause = cause.__cause__ or cause.__context__
    return chain


def odd_shape(error: BaseException) -> ArrayShapesDiffered | None:
    """The shape that most have, the first of another one, and its index in the list; innermost frames first."""
    for _, _, _, frame in reversed(list(user_lines.frames_of(error.__traceback__))):
        for value in list(frame_locals.of(frame).values())[:50]:
            shapes = _shapes(value)
            if len(set(shapes)) < 2:
                continue
            usual = Counter(shapes).most_common(1)[0][0]
            odd = next(number for number, shape in enumerate(shapes) if shape != usual)
            return ArrayShapesDiffered(usual=list(usual), odd=list(shapes[odd]), index=odd, total=len(shapes))
    return None


def _shapes(value: Any) -> list[tuple[int, ...]]:
    """Of a list of arrays and nothing else."""
    if not isinstance(value, (list, tuple)) or not 2 <= len(value) <= _MAX_ARRAYS:
        return []
    if not all(hasattr(one, "shape") and hasattr(one, "dtype") for one in value):
        return []
    return [tuple(int(side) for side in one.shape) for one in value]
