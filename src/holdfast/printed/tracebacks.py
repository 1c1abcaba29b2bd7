"""Python tracebacks in printed text: chained ones, with anything in front of their lines, of notebooks and of rich."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

#: Bounds on one traceback and on its message, so that a log without line ends in sight is not read as one. Chosen: deep
#: recursion is folded by Python, and TensorFlow's messages have some tens of lines.
_MOST_LINES, _MOST_MESSAGE_LINES = 600, 40
_MOST_CHAINED = 5
#: Lines between a traceback and the sentence that joins it to the next.
_JOINED_WITHIN = 4
_FRAME = re.compile(r'^\s*File "(?P<file>[^"]+)", line (?P<line>\d+)(?:, in (?P<function>.+))?$')
_RAISED = re.compile(r"^(?P<type>[A-Za-z_][\w.]*)(?::\s?(?P<message>.*))?$")
#: Where a program or a process of multiprocessing begins; a file that does not compile has no function.
_STARTS = ("<module>", "_run_module_as_main", "_bootstrap", "")
_BEGINS = "Traceback (most recent call last)"
_JOINS = ("During handling", "The above exception")
_NATIVE_LOG = re.compile(r"^(\d{4}-\d\d-\d\d \d\d:|[WEIF]\d{4} |\[\d{4}-)")
#: Lines of somebody else, which end a message: loggers, the shell, the scheduler, a launcher.
_OTHERS = re.compile(
    r"^\W{0,2}(?:(?:DEBUG|INFO|WARN(?:ING)?|ERROR|CRITICAL)\b[\]:| ]"
    r"|\d{4}[-/]\d\d[-/]\d\d[ T_]|\d\d[-/]\d\d[ T]\d\d:\d\d)"
    r"|^(?:slurmstepd|srun|nohup|make|wandb|Exception ignored in|Exception in thread|Process \S+:$)\b|: line \d+: +\d+ "
)
#: A notebook's frames: "Cell In[9], line 1", "<ipython-input-7-…> in f", "/b.py in f(x)", "File /b.py:65, in f".
_NOTEBOOK = re.compile(r"^\s*(?P<type>[A-Za-z_][\w.]*)\s+Traceback \(most recent call last\)\s*$")
_NOTEBOOK_FRAME = re.compile(
    r"^(?:File )?(?P<file>Cell In ?\[\d+\]|<ipython-input[^>]*>|[~/\w][^\s:]*\.pyx?)"
    r"(?:(?::|, line |:line )(?P<line>\d+))?(?:,? in (?P<function>[^()]+)(?:\(.*)?)?$"
)
_ARROW = re.compile(r"^-+> *(?P<line>\d+) ?(?P<code>.*)$")
_BOX_FRAME = re.compile(r"^(?P<file>\S+\.py):(?P<line>\d+) in\s*(?P<function>\S*)$")
_BOX_CODE = re.compile(r"^❱\s*\d+ [│|]?\s*(?P<code>.*)$")


@dataclass(frozen=True, slots=True)
class TracebackText:
    type: str
    message: str
    frames: tuple[tuple[str, int, str], ...]  # file, line, function; outermost first
    code: tuple[str, ...]  # the text of each frame's line, "" where it was not printed
    chain: tuple[str, ...]  # "Type: message" of the tracebacks printed before it in the same chain
    at: int  # index of the line with "Type: message"
    end: int  # index after the last line of its message
    start: int = 0  # index of its first line
    in_thread: bool = False  # it ended a thread, or was ignored: not the program
    #: Nobody caught it, by its first frame: a handler that logs an exception prints the frames from itself on.
    from_the_start: bool = True


def last_traceback(texts: Sequence[str]) -> TracebackText | None:
    """The last traceback in these lines, with those that it is chained to."""
    starts = [at for at, text in enumerate(texts) if _BEGINS in text]
    return _with_chain(texts, starts, len(starts) - 1) if starts else None


def tracebacks(texts: Sequence[str], most: int = 20) -> list[TracebackText]:
    """The last ones, oldest first, each with those that it is chained to in front of it."""
    starts = [at for at, text in enumerate(texts) if _BEGINS in text]
    found: list[TracebackText] = []
    for place in range(max(0, len(starts) - most), len(starts)):
        one = _with_chain(texts, starts, place)
        if one is not None and found and found[-1].end == one.start:  # in the message of the one before it
            one = replace(one, from_the_start=one.from_the_start or found[-1].from_the_start)
        found += [one] if one is not None else []
    return found


def is_native_log(text: str) -> bool:
    """A line of a framework's own logger, which may follow a traceback at exit."""
    return bool(_NATIVE_LOG.match(text))


def _with_chain(texts: Sequence[str], starts: list[int], place: int) -> TracebackText | None:
    last = _one_traceback(texts, starts[place])
    if last is None:
        return None
    chain: list[str] = []
    for start in starts[max(0, place - _MOST_CHAINED) : place]:
        earlier = _one_traceback(texts, start)
        if earlier is not None and _chained(texts, earlier.end, starts):
            chain.append(f"{earlier.type}: {earlier.message}".strip())
    return replace(last, chain=tuple(chain))


def _one_traceback(texts: Sequence[str], start: int) -> TracebackText | None:
    if "╭" in texts[start]:
        return _boxed(texts, start)
    if notebook := _NOTEBOOK.match(texts[start]):
        return _of_notebook(texts, start, notebook["type"])
    lines = _Unprefixed(texts, start)
    frames: list[tuple[str, int, str]] = []
    code: list[str] = []
    for at in range(start + 1, min(len(texts), start + _MOST_LINES)):
        text = lines[at]
        if frame := _FRAME.match(text):
            frames.append((frame["file"], int(frame["line"]), frame["function"] or ""))
            code.append("")
        elif text[:1].isspace() or not text:
            if frames and not code[-1] and not set(text.strip()) <= set("^~"):
                code[-1] = text.strip()
        else:
            raised = _RAISED.match(text)
            if raised is None or (not frames and "Error" not in text):
                return None
            return _made(lines, start, at, raised, frames, code, plain=True)
    return None


class _Unprefixed:
    """The lines of a traceback without what is in front of each of them: a time, a level, a rank, an indent."""

    def __init__(self, texts: Sequence[str], start: int) -> None:
        self._texts = texts
        prefix = texts[start].partition(_BEGINS)[0].removesuffix("Original ") if start < len(texts) else ""
        shape = re.sub(r"\\?\d+", r"\\d+", re.escape(prefix)).replace("\\ ", " ")
        spaces = len(shape) - len(shape.rstrip(" "))  # an empty line has none of them
        self._prefix = re.compile(shape.rstrip(" ") + f" {{0,{spaces}}}" if spaces else shape)
        if not prefix or len(texts) <= start + 1 or not self._prefix.match(texts[start + 1]):
            self._prefix = re.compile("")

    def __getitem__(self, at: int) -> str:
        return self._prefix.sub("", self._texts[at], count=1)

    def __len__(self) -> int:
        return len(self._texts)


def _made(
    lines: _Unprefixed,
    start: int,
    at: int,
    raised: re.Match[str],
    frames: Sequence[tuple[str, int, str]],
    code: Sequence[str],
    *,
    plain: bool = False,
) -> TracebackText:
    message, end = _message(lines, at, raised["message"] or "")
    before = lines[start - 1] if start else ""
    in_thread = before.startswith(("Exception in thread", "Exception ignored in"))
    kind = raised["type"].rpartition(".")[2]
    whole = not plain or not frames or frames[0][2] in _STARTS or "Original Traceback" in lines[start]
    return TracebackText(kind, message, tuple(frames), tuple(code), (), at, end, start, in_thread, whole)


def _message(texts: _Unprefixed, at: int, first: str) -> tuple[str, int]:
    """The message with its further lines, as far as they belong to it."""
    parts = [first]
    for end in range(at + 1, min(len(texts), at + _MOST_MESSAGE_LINES)):
        text = texts[end]
        if _BEGINS in text or is_native_log(text) or text.startswith(_JOINS) or _OTHERS.search(text):
            break
        parts.append(text)
    return "\n".join(parts).strip(), at + len(parts)


def _chained(texts: Sequence[str], end: int, starts: list[int]) -> bool:
    joined = any(_joins(text) for text in texts[end : end + _JOINED_WITHIN])
    return joined and any(start >= end for start in starts)


def _joins(text: str) -> bool:
    return any(joint in text for joint in _JOINS)


def _of_notebook(texts: Sequence[str], start: int, kind: str) -> TracebackText | None:
    frames: list[tuple[str, int, str]] = []
    code: list[str] = []
    lines = _Unprefixed(texts, len(texts))
    for at in range(start + 1, min(len(texts), start + _MOST_LINES)):
        text = texts[at].rstrip()
        raised = _RAISED.match(text)
        if raised is not None and raised["type"].rpartition(".")[2] == kind.rpartition(".")[2]:
            return _made(lines, start, at, raised, frames, code)
        if frame := _NOTEBOOK_FRAME.match(text):
            name = (
                frame["file"].replace("Cell In", "<ipython-input") if "In" in frame["file"] else frame["file"]
            )
            frames.append((name, int(frame["line"] or 0), (frame["function"] or "").strip()))
            code.append("")
        elif (arrow := _ARROW.match(text)) and frames:
            frames[-1] = (frames[-1][0], int(arrow["line"]), frames[-1][2])
            code[-1] = arrow["code"].strip()
    return None


def _boxed(texts: Sequence[str], start: int) -> TracebackText | None:
    """The traceback that rich draws in a frame, with its error below the frame."""
    frames: list[tuple[str, int, str]] = []
    code: list[str] = []
    lines = _Unprefixed(texts, len(texts))
    for at in range(start + 1, min(len(texts), start + _MOST_LINES)):
        inner = texts[at].strip().strip("│").strip()
        if "╰" in texts[at]:
            below = _RAISED.match(texts[at + 1]) if at + 1 < len(texts) else None
            return _made(lines, start, at + 1, below, frames, code) if below is not None else None
        if frame := _BOX_FRAME.match(inner):
            frames.append((frame["file"], int(frame["line"]), frame["function"]))
            code.append("")
        elif (marked := _BOX_CODE.match(inner)) and frames:
            code[-1] = marked["code"].strip()
    return None
