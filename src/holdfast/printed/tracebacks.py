"""Python tracebacks in printed text: chained ones, indented ones, with TensorFlow's long messages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

#: Bounds on one traceback and on its message, so that a log without line ends in sight is not read as one. Chosen: deep
#: recursion is folded by Python, and TensorFlow's messages have some tens of lines.
_MOST_LINES, _MOST_MESSAGE_LINES = 600, 40
_MOST_CHAINED = 5
#: Lines between a traceback and the sentence that joins it to the next.
_JOINED_WITHIN = 4
_FRAME = re.compile(r'^\s*File "(?P<file>[^"]+)", line (?P<line>\d+)(?:, in (?P<function>.+))?$')
_RAISED = re.compile(r"^(?P<type>[A-Za-z_][\w.]*)(?::\s?(?P<message>.*))?$")
_BEGINS = "Traceback (most recent call last)"
_JOINS = ("During handling", "The above exception")
_NATIVE_LOG = re.compile(r"^(\d{4}-\d\d-\d\d \d\d:|[WEIF]\d{4} |\[\d{4}-)")


@dataclass(frozen=True, slots=True)
class TracebackText:
    type: str
    message: str
    frames: tuple[tuple[str, int, str], ...]  # file, line, function; outermost first
    code: tuple[str, ...]  # the text of each frame's line, "" where it was not printed
    chain: tuple[str, ...]  # "Type: message" of the tracebacks printed before it in the same chain
    at: int  # index of the line with "Type: message"
    end: int  # index after the last line of its message


def last_traceback(texts: Sequence[str]) -> TracebackText | None:
    """The last traceback in these lines, with those that it is chained to."""
    starts = [at for at, text in enumerate(texts) if _BEGINS in text]
    last = _one_traceback(texts, starts[-1]) if starts else None
    if last is None:
        return None
    chain: list[str] = []
    for start in starts[-_MOST_CHAINED - 1 : -1]:
        earlier = _one_traceback(texts, start)
        if earlier is not None and _chained(texts, earlier.end, starts):
            chain.append(f"{earlier.type}: {earlier.message}".strip())
    return TracebackText(last.type, last.message, last.frames, last.code, tuple(chain), last.at, last.end)


def is_native_log(text: str) -> bool:
    """A line of a framework's own logger, which may follow a traceback at exit."""
    return bool(_NATIVE_LOG.match(text))


def _one_traceback(texts: Sequence[str], start: int) -> TracebackText | None:
    indent = len(texts[start]) - len(texts[start].lstrip())
    frames: list[tuple[str, int, str]] = []
    code: list[str] = []
    for at in range(start + 1, min(len(texts), start + _MOST_LINES)):
        text = texts[at][indent:] if texts[at][:indent].isspace() or not indent else texts[at]
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
            message, end = _message(texts, at, raised["message"] or "")
            kind = raised["type"].rpartition(".")[2]
            return TracebackText(kind, message, tuple(frames), tuple(code), (), at, end)
    return None


def _message(texts: Sequence[str], at: int, first: str) -> tuple[str, int]:
    """The message with its further lines, as far as they belong to it."""
    parts = [first]
    for end in range(at + 1, min(len(texts), at + _MOST_MESSAGE_LINES)):
        text = texts[end]
        if _BEGINS in text or is_native_log(text) or text.startswith(("During handling", "The above exc")):
            break
        parts.append(text)
    return "\n".join(parts).strip(), at + len(parts)


def _chained(texts: Sequence[str], end: int, starts: list[int]) -> bool:
    joined = any(text.startswith(_JOINS) for text in texts[end : end + _JOINED_WITHIN])
    return joined and any(start >= end for start in starts)
