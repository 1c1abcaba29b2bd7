"""The exception that ended a run, from the probe or from the printed traceback, and its words."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from holdfast.explain.finding import Fact
from holdfast.explain.readings.output import clipped, is_advice, without_colour
from holdfast.explain.readings.recorded import Recorded
from holdfast.journal import events as ev
from holdfast.printed.tracebacks import TracebackText
from holdfast.user_code import is_user_file

if TYPE_CHECKING:
    from holdfast.explain.evidence import Evidence

#: Lines that TensorFlow puts around what went wrong.
_WRAPPING = re.compile(
    r'(Graph execution error|in user code:|Detected at node|<stack traces unavailable>|File "|\[\[|'
    r"\d+ (root error|successful operations|derived errors)|Node: '|"
    r"Stack trace for|Original stack trace|Traceback \(most|Exception encountered when calling)"
)
#: Names of a graph inside a line: of the function that ran, and of the operation that ran it.
_GRAPH_NAMES = re.compile(
    r"\{\{function_node .*?\}\} ?|\(\d+\) [A-Z_]+: +|(?<!\s)\s*\[Op:\w*\](?: name: ?)?$", re.MULTILINE
)
_PYTHON_ERROR = re.compile(r"[A-Za-z_][\w.]*(Error|Exception): ")
#: What TensorFlow makes of an exception that leaves a Python function inside a graph.
_FROM_PYTHON = (
    "UnknownError",
    "InvalidArgumentError",
    "InternalError",
    "UnimplementedError",
    "ResourceExhaustedError",
)
#: Characters by which two messages are the same: layers that pass an exception on may append to it.
_SAME = 80


@dataclass(frozen=True, slots=True)
class Fatal:
    """A crash in native code, as Python's fault handler reports it."""

    what: str  # "Segmentation fault"
    #: File, line and function of the thread that crashed, innermost first.
    frames: tuple[tuple[str, int, str], ...]
    source: str
    #: False: a thread without Python crashed, and the frames are those of the main thread
    in_python: bool = True

    @property
    def where(self) -> str:
        """The innermost line of the user's own code."""
        own = next((frame for frame in self.frames if is_user_file(frame[0])), None)
        return f"{own[0]}:{own[1]} in {own[2]}" if own is not None else ""

    @property
    def inside(self) -> str:
        """The innermost line of all, where it is a library's."""
        return f"{self.frames[0][0]}:{self.frames[0][1]} in {self.frames[0][2]}" if self.frames else ""


def read_fatal(text: str, *, source: str) -> Fatal | None:
    """The last crash in a file that the fault handler wrote."""
    _, mark, reported = text.rpartition("Fatal Python error: ")
    if not mark:
        return None
    what, _, rest = reported.partition("\n")
    current = re.search(r"Current thread .*\n(?:  Garbage-collecting\n)?((?:  File .*\n?)*)", rest)
    threads = re.findall(r"^Thread .*\n(?:  Garbage-collecting\n)?((?:  File .*\n?)*)", rest, re.MULTILINE)
    told_of = current[1] if current else threads[-1] if threads else ""  # the main thread comes last
    frames = re.findall(r'  File "(.*?)", line (\d+) in (.*)', told_of)
    located = tuple((file, int(line), name) for file, line, name in frames)
    return Fatal(what.strip(), located, source, current is not None)


@dataclass(frozen=True, slots=True)
class Raised:
    """The exception that ended the run, from the probe or from the printed traceback."""

    type: str
    message: str
    source: str
    user_line: str = ""
    user_code: str = ""
    errno: int | None = None
    left: str = "script"
    callback: str = ""
    chain: tuple[str, ...] = ()
    frames: tuple[str, ...] = ()  # "file:line function", outermost first
    caught: bool | None = None
    paths: tuple[str, ...] = ()  # files named by the message or held by the user's frames

    @property
    def essence(self) -> str:
        """The line of the message that says most. TensorFlow wraps it in a graph's history."""
        plain = _GRAPH_NAMES.sub("", without_colour(self.message))
        lines = [line.strip() for line in plain.splitlines() if line.strip()]
        telling = [line for line in lines if not _WRAPPING.match(line)]
        if not telling:
            return lines[0] if lines else ""
        wrapped = lines[0].startswith(("Graph execution error", "in user code:"))
        named = [line for line in telling if _PYTHON_ERROR.match(line)] if wrapped else []
        if named:  # an exception of the user's own Python, inside the graph
            return named[0].removeprefix(f"{self.type}: ")
        return (telling[-1] if wrapped else telling[0]).removeprefix(f"{self.type}: ")

    @property
    def own(self) -> tuple[str, str]:
        """Type and words; those of the user's exception where TensorFlow has made its own of it."""
        inner = re.match(r"([A-Za-z_]\w*(?:Error|Exception)): (.+)", self.essence)
        return (inner[1], inner[2]) if inner and self.type in _FROM_PYTHON else (self.type, self.essence)

    @property
    def text(self) -> str:
        """Everything it said, for matching: type, message, and the causes behind it."""
        return without_colour("\n".join((f"{self.type}: {self.message}", *self.chain)))


def from_event(
    chosen: Recorded[ev.ExceptionRaised],
    raised: list[Recorded[ev.ExceptionRaised]],
    *,
    caught: bool | None = None,
) -> Raised:
    """Each layer that an exception leaves writes it down again; the innermost knows most."""
    event = chosen.event
    layers = [one.event for one in raised if one.event.type == event.type]
    layers = [event, *(one for one in layers if one.message[:_SAME] == event.message[:_SAME])]
    callback = next((one.callback for one in layers if one.callback), "")
    return Raised(
        type=event.type,
        message=event.message,
        source=chosen.source,
        user_line=next((one.user_line for one in layers if one.user_line), ""),
        user_code=next((one.user_code for one in layers if one.user_code), ""),
        errno=event.errno,
        left="callback" if callback else event.left,
        callback=callback,
        chain=tuple(event.chain),
        frames=tuple(event.frames),
        caught=event.caught if caught is None else caught,
        paths=tuple(event.paths),
    )


def user_frame(frames: Sequence[tuple[str, int, str]], codes: Sequence[str]) -> tuple[str, str]:
    """The innermost line of the user's own code among those of a printed traceback, and its text."""
    own = [at for at, (file, _, _) in enumerate(frames) if is_user_file(file)]
    if not own:
        return "", ""
    file, line, _ = frames[own[-1]]
    return f"{file}:{line}", codes[own[-1]]


def exception_of(printed: TracebackText) -> ev.ExceptionRaised:
    """What the probe would have written of it."""
    where, code = user_frame(printed.frames, printed.code)
    errno = re.search(r"\[Errno (\d+)\]", printed.message)
    return ev.ExceptionRaised(
        type=printed.type,
        message=printed.message,
        errno=int(errno[1]) if errno else None,
        user_line=where,
        user_code=code,
        frames=[f"{file}:{line} {function}" for file, line, function in printed.frames],
        chain=list(printed.chain),
    )


# -- the words of an error ------------------------------------------------------------------------

_ESSENCE_LENGTH = 200  # characters of a message that are shown
#: How far back an error that ended the run is looked for in the output.
_LAST_LINES = 300
#: …and where a script that the probe was in ended without an exception: what it said long before is another story.
_VERY_LAST_LINES = 40
#: …and where it is: what it was about.
_LAST_WORDS = 5
#: What multiprocessing raises when the process at the other end is gone.
_PIPE_BROKE = ("EOFError", "ConnectionResetError", "BrokenPipeError", "ConnectionRefusedError")
_FROM_OUTSIDE = ("SIGKILL", "SIGTERM", "SIGINT", "SIGHUP")
#: What a launcher raises about the process below it.
LAUNCHER_ERRORS = (
    "CalledProcessError",
    "ChildFailedError",
    "ProcessExitedException",
    "ProcessRaisedException",
)
#: Errors that only pass on that something else failed, and may have said why: a process below, or a kernel.
_PASSES_ON = (*LAUNCHER_ERRORS, "BrokenProcessPool", "RemoteError", "UnknownError", "InternalError", "AbortedError",
              "CancelledError", "XlaRuntimeError", "JaxRuntimeError")  # fmt: skip
#: A GPU's kernel prints what was wrong; the exception of torch only says that it failed.
_OF_A_KERNEL = re.compile(r"device-side assert triggered")


@final
@dataclass(frozen=True, slots=True)
class Quote:
    """The line of an error, or of the output, by which a cause is known."""

    text: str  # one line, cut to a length that can be shown
    source: str
    match: re.Match[str]
    whole: str  # everything that the error said, and this line
    raised_at: tuple[Fact, ...] = ()  # the line of the user's own code that the exception left

    @property
    def fact(self) -> Fact:
        return Fact("error.quoted", {"text": self.text}, self.source)

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The line, and where in the user's own code it was raised."""
        return (self.fact, *self.raised_at)

    def says(self, pattern: str) -> bool:
        """Whether the line says this."""
        return re.search(pattern, self.text) is not None

    def file(self, endings: str) -> str:
        """The last file of these endings that the error names, or ""."""
        return file_named(self.whole, endings)


@dataclass(frozen=True, slots=True)
class ErrorText:
    """Words by which an error is known."""

    pattern: str
    flags: int = 0

    def match(self, evidence: Evidence) -> Quote | None:
        """The error that ended the run, where it says this: in the exception, else in the last lines printed.

        Lines that advise or guess prove nothing and are passed over.
        """
        error = evidence.error
        if error is None and not evidence.went_wrong and evidence.stall is None:
            return None
        matcher = re.compile(self.pattern, self.flags)
        if error is not None:
            for line in error.text.splitlines():
                hit = matcher.search(line)
                if hit and not is_advice(line, hit.start()):
                    return self._quote(evidence, line, hit, error.source)
            passed_on = error.type in _PASSES_ON or _OF_A_KERNEL.search(error.message)
            if error.message.strip() and not passed_on:
                return None  # an error that speaks for itself: what was printed before it is another story
        if error is None and evidence.exit_signal in _FROM_OUTSIDE and evidence.stall is None:
            return None  # somebody else ended it: what it had said of itself is not why
        for line_seen in reversed(evidence.output.lines[-_how_far_back(evidence) :]):
            hit = matcher.search(line_seen.text)
            if hit and not is_advice(line_seen.text, hit.start()):
                return self._quote(evidence, line_seen.text, hit, line_seen.source)
        return None

    def _quote(self, evidence: Evidence, line: str, hit: re.Match[str], source: str) -> Quote:
        error = evidence.error
        wrapped = error is not None and line.startswith(f"{error.type}: Graph execution error")
        text = clipped(f"{error.type}: {error.essence}" if error is not None and wrapped else line)
        return Quote(text, source, hit, f"{evidence.error_text}\n{text}", user_line(evidence))


def _how_far_back(evidence: Evidence) -> int:
    if evidence.stall is not None and evidence.error is None:
        return _LAST_WORDS
    told_inside = bool(evidence.all(ev.ProcessJoined)) and evidence.error is None and not evidence.crashed
    return _VERY_LAST_LINES if told_inside else _LAST_LINES


def user_line(evidence: Evidence) -> tuple[Fact, ...]:
    """The line of the user's own code that the exception left."""
    error = evidence.error
    if error is None or not error.user_line:
        return ()
    return (Fact("error.user-line", {"line": error.user_line, "code": error.user_code}, error.source),)


def error_quoted(error: Raised) -> Fact:
    """Its type, and the line of its message that explains most."""
    text = clipped(f"{error.type}: {error.essence}", _ESSENCE_LENGTH)
    return Fact("error.quoted", {"text": text}, error.source)


def lost_process(evidence: Evidence) -> Fact | None:
    """The error of a process whose partner ended in the middle of a message: multiprocessing's pipe or socket broke."""
    error = evidence.error
    if error is None or error.type not in _PIPE_BROKE:
        return None
    inside = next((frame for frame in reversed(error.frames) if "multiprocessing/" in frame), None)
    if inside is None:
        return None
    values = {"text": error.text.splitlines()[0], "frame": inside}
    return Fact("error.in-multiprocessing", values, error.source)


def reader_gone(evidence: Evidence) -> bool:
    """What it printed had a reader, and that is gone: `python train.py | head`."""
    error = evidence.error
    if error is None or error.type != "BrokenPipeError":
        return False
    elsewhere = re.compile(r"multiprocessing/|socket|http|ssl\.py|urllib|requests/")
    return not any(map(elsewhere.search, error.frames))


#: A limit on the size of a file says nearly what a full disk says; NumPy says "requested and written" for both.
FULL_DISK = ErrorText(
    r"No space left on device|\berrno ?= ?28\b|\[Errno 28\]|Disk quota exceeded|; File too large|\berrno ?= ?27\b|"
    r"\[Errno 27\]|OSError: \d+ requested and \d+ written|tempstate.*xhausted|xhausted.*tempstate"
)


def file_named(
    text: str,
    endings: str = r"jpe?g|png|bmp|gif|webp|tiff?|tfrecords?\S*|records?|h5|keras|npy|npz|xml|json|txt|csv",
) -> str:
    """The last path in the text that ends like a data file, or ""."""
    found = re.findall(rf"""['"(\s=]?((?:[\w.~$@+:-]*/)?[\w.@+ -]*\.(?:{endings}))\b""", text)
    return str(found[-1]).strip() if found else ""


def is_there(evidence: Evidence, file: str) -> bool | None:
    """Whether a file that an exception named was there when it was raised; None where nobody looked."""
    looked = [said.event for said in evidence.all(ev.ExceptionRaised) if said.event.paths_there is not None]
    if not looked:
        return None
    return any(os.path.basename(file) == os.path.basename(path) for path in looked[-1].paths_there or ())
