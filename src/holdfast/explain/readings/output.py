"""What a run printed: its last lines with their numbers, and the traceback that ended it.

Only the head and the tail of a long log are looked at. Progress bars overwrite their line with carriage
returns and backspaces; each overwrite counts as a piece of the same line.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, final

from holdfast.explain.finding import Fact
from holdfast.printed.tracebacks import TracebackText, is_native_log, last_traceback
from holdfast.regular_file import open_regular

QUOTE_LENGTH = 160  # characters of a line that a fact shows
MOST_OUTPUT_BYTES = 1 << 30  # that are read through; of a larger output.log, the beginning and the end
_TAIL_BYTES = 256 << 10
_HEAD_BYTES = 64 << 10
#: Lines after a traceback with which it still closes the output: handlers and loggers print some at exit. Chosen.
_LAST_WORDS = 12
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x08+")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_TRAINS = re.compile(r"^\s*Epoch \d+|\b\d+/\d+\b.*(\d\s?m?s/step|loss)", re.IGNORECASE)

#: Advice and guesses that libraries print. They name causes that need not be there.
_ADVICE = re.compile(
    r"\b(may|might|perhaps|probably|possibly|potentially|likely|consider|hint|tip|please|if you|make sure|to avoid|"
    r"you should|you can|you may|in case|could (be|have|also|lead|cause|mean)|"
    r"can (be|cause|happen|lead|also|help|mean))\b",
    re.IGNORECASE,
)

_HARMLESS = re.compile(r"\bnot (a failure|an error|fatal)\b|\b(falling back|fall back) to\b", re.IGNORECASE)
_PATH = re.compile(r"\S*/\S+")  # /data/2024/may is a place


def is_advice(text: str, at: int = 0) -> bool:
    """The sentence around this place guesses or recommends, and so proves nothing."""
    begin = max(text.rfind(". ", 0, at), text.rfind("; ", 0, at), 0)
    # What a server asks for after it has said what is wrong is no part of that: "(SlowDown) …: Please reduce …".
    ends = [end for end in (text.find(mark, at) for mark in (". ", "; ", ": Please ")) if end >= 0]
    sentence = _PATH.sub(" ", text[begin : min(ends, default=len(text))])
    return bool(_ADVICE.search(sentence) or _HARMLESS.search(text))


def without_colour(text: str) -> str:
    return _COLOUR.sub("", text)


def clipped(text: str, length: int = QUOTE_LENGTH) -> str:
    """One line of it, cut with a mark."""
    line = " ".join(without_colour(text).split())
    return line if len(line) <= length else line[: length - 1] + "…"


@dataclass(frozen=True)
class Skipped:
    """The middle of a long log, which is not looked at. Its lines are counted when the first number behind it is asked
    for: to count those of 80 MB takes a fifth of the time of an explanation, and most need none."""

    path: Path
    start: int
    end: int

    @property
    def countable(self) -> bool:
        """Holdfast's own copies are far smaller: what is larger is a stranger's, and would take hours."""
        return self.end - self.start <= MOST_OUTPUT_BYTES

    @cached_property
    def lines(self) -> int:
        try:
            with open_regular(self.path, links=False) as file:
                return _line_breaks(file.fileno(), self.start, self.end)
        except OSError:
            return 0


@final
@dataclass(frozen=True, slots=True)
class Line:
    place: int  # from 1 on; behind a part that was skipped, as if that had no lines
    text: str
    skipped: Skipped | None = None
    file: str = "output.log"

    @property
    def number(self) -> int:
        if self.skipped is None or not self.skipped.countable:
            return self.place
        return self.place + self.skipped.lines

    @property
    def source(self) -> str:
        if self.skipped is not None and not self.skipped.countable:
            return self.file
        return f"{self.file}:{self.number}"

    @property
    def fact(self) -> Fact:
        return Fact("error.quoted", {"text": clipped(self.text)}, self.source)


class Traceback(NamedTuple):
    """The last one that was printed."""

    text: TracebackText
    line: Line  # with "Type: message"
    closes: bool  # nothing but shutdown noise comes after it
    trained_after: bool  # an epoch or a progress bar comes after it


@dataclass(frozen=True)
class Output:
    lines: tuple[Line, ...] = ()  # the head and the tail, with a gap between them in a long log
    size: int = 0
    there: bool = False

    def last(self, pattern: str, *, advice: bool = False) -> Line | None:
        """The last line that matches. Advice does not count unless asked for."""
        return _first(reversed(self.lines), pattern, advice=advice)

    def first(self, pattern: str, *, advice: bool = False) -> Line | None:
        return _first(self.lines, pattern, advice=advice)

    @cached_property
    def traceback(self) -> Traceback | None:
        """The last one. The lines behind it say whether it closes the output and whether training continued."""
        found = last_traceback([line.text for line in self.lines])
        if found is None:
            return None
        behind = self.lines[found.end :]
        noise = sum(1 for line in behind if line.text.strip() and not is_native_log(line.text))
        trained_after = any(_TRAINS.search(line.text) for line in self.lines[found.at + 1 :])
        return Traceback(found, self.lines[found.at], noise <= _LAST_WORDS, trained_after)


def _first(lines: Iterable[Line], pattern: str, *, advice: bool) -> Line | None:
    matcher = re.compile(pattern)
    for line in lines:
        hit = matcher.search(line.text)
        if hit and (advice or not is_advice(line.text, hit.start())):
            return line
    return None


def read(path: Path) -> Output:
    """The output, or an empty one that says so."""
    try:
        with open_regular(path, links=False) as file:
            size = os.fstat(file.fileno()).st_size
            if size <= _HEAD_BYTES + _TAIL_BYTES:
                return Output(tuple(_lines(file.read(), first=1)), size, True)
            head = file.read(_HEAD_BYTES)
            file.seek(size - _TAIL_BYTES)
            tail = file.read(_TAIL_BYTES)
    except OSError:
        return Output()
    skipped = Skipped(path, _HEAD_BYTES, size - _TAIL_BYTES)
    tail_lines = _lines(tail, first=1 + head.count(b"\n"), skipped=skipped)[1:]  # the first one is cut
    return Output(tuple(_lines(head, first=1)[:-1] + tail_lines), size, True)


def _line_breaks(fd: int, start: int, end: int) -> int:
    total = 0
    while start < end:
        chunk = os.pread(fd, min(1 << 22, end - start), start)
        if not chunk:
            break
        total += chunk.count(b"\n")
        start += len(chunk)
    return total


def _lines(raw: bytes, *, first: int, skipped: Skipped | None = None) -> list[Line]:
    found: list[Line] = []
    for number, line in enumerate(raw.split(b"\n"), start=first):
        text = line[-4000:].decode("utf-8", "replace")
        if "\r" in text or "\x08" in text or "\x1b" in text:
            pieces = [_CONTROL.sub("", piece).rstrip() for piece in re.split(r"\r|\x08{2,}", text)]
            found += [Line(number, piece, skipped) for piece in pieces[-3:] if piece]
        elif text:
            found.append(Line(number, text.rstrip(), skipped))
    return found
