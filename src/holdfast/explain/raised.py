"""The exception that ended a run, from the probe or from the printed traceback."""

from __future__ import annotations

import re
from dataclasses import dataclass

from holdfast.explain.output import Traceback
from holdfast.explain.standing import is_users
from holdfast.explain.words import without_colour
from holdfast.journal import events as ev

#: Lines that TensorFlow puts around what went wrong.
_WRAPPING = re.compile(
    r'(Graph execution error|in user code:|Detected at node|File "|\[\[\{\{node|\d+ (root error|successful operations)|'
    r"Stack trace for|Original stack trace|Traceback \(most|Exception encountered when calling)"
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


@dataclass(frozen=True, slots=True)
class Fatal:
    """A crash in native code, as Python's fault handler told it."""

    what: str  # "Segmentation fault"
    frames: tuple[
        tuple[str, int, str], ...
    ]  # file, line, function of the thread that crashed, innermost first
    source: str
    #: False: a thread without Python crashed, and the frames are those of the main thread
    in_python: bool = True

    @property
    def where(self) -> str:
        """The innermost line of the user's own code."""
        own = next((frame for frame in self.frames if is_users(frame[0])), None)
        return f"{own[0]}:{own[1]} in {own[2]}" if own is not None else ""

    @property
    def inside(self) -> str:
        """The innermost line of all, where it is a library's."""
        return f"{self.frames[0][0]}:{self.frames[0][1]} in {self.frames[0][2]}" if self.frames else ""


def read_fatal(text: str, *, source: str) -> Fatal | None:
    """The last crash in a file that the fault handler wrote."""
    _, mark, told = text.rpartition("Fatal Python error: ")
    if not mark:
        return None
    what, _, rest = told.partition("\n")
    current = re.search(r"Current thread .*\n(?:  Garbage-collecting\n)?((?:  File .*\n?)*)", rest)
    threads = re.findall(r"^Thread .*\n(?:  Garbage-collecting\n)?((?:  File .*\n?)*)", rest, re.MULTILINE)
    told_of = current[1] if current else threads[-1] if threads else ""  # the main thread comes last
    frames = re.findall(r'  File "(.*?)", line (\d+) in (.*)', told_of)
    return Fatal(
        what.strip(),
        tuple((file, int(line), name) for file, line, name in frames),
        source,
        current is not None,
    )


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
    phase: str = ""
    caught: bool | None = None
    paths: tuple[str, ...] = ()  # files named by the message or held by the user's frames

    @property
    def essence(self) -> str:
        """The line of the message that says most. TensorFlow wraps it in a graph's history."""
        plain = re.sub(r"\{\{function_node .*?\}\} ?", "", without_colour(self.message))
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
    event: ev.ExceptionRaised, source: str, told: list[ev.ExceptionRaised], *, caught: bool | None = None
) -> Raised:
    callback = event.callback
    user_line, user_code = event.user_line, event.user_code
    for (
        other
    ) in told:  # the same exception is told again by each layer that it leaves; the innermost knows most
        if other.type == event.type and other.message[:80] == event.message[:80]:
            callback = callback or other.callback
            user_line, user_code = user_line or other.user_line, user_code or other.user_code
    return Raised(
        type=event.type, message=event.message, source=source, user_line=user_line, user_code=user_code,
        errno=event.errno, left="callback" if callback else event.left, callback=callback,
        chain=tuple(event.chain), frames=tuple(event.frames), phase=event.phase,
        caught=event.caught if caught is None else caught,
        paths=tuple(event.paths),
    )  # fmt: skip


def from_output(printed: Traceback) -> Raised:
    own = [at for at, (file, _, _) in enumerate(printed.frames) if is_users(file)]
    where, code = "", ""
    if own:
        file, line, _ = printed.frames[own[-1]]
        where, code = f"{file}:{line}", printed.code[own[-1]]
    errno = re.search(r"\[Errno (\d+)\]", printed.message)
    return Raised(
        type=printed.type, message=printed.message, source=printed.source, user_line=where, user_code=code,
        errno=int(errno[1]) if errno else None, chain=printed.chain,
        frames=tuple(f"{file}:{line} {function}" for file, line, function in printed.frames),
    )  # fmt: skip
