"""Reads a log of any size in one pass and bounded memory: its head, its tail, samples of the middle, and telling lines.

Most of what a log says of its run is in its first and its last lines. Of the middle, a few lines of every chunk show
the course; lines with a telling word (a loss that is NaN, data that ran out) are kept wherever they are.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from holdfast.printed.pieces import encoding_of

_CHUNK_BYTES = 4 << 20
_HEAD_BYTES, _TAIL_BYTES = 64 << 10, 512 << 10
_SAMPLE_BYTES = 2 << 10  # of every chunk of the middle
#: Of a long line, a bar that was overwritten for an hour, the first and the last states are enough.
_LINE_HEAD_BYTES, _LINE_TAIL_BYTES = 2000, 6000
_LONGEST_LINE_BYTES = _LINE_HEAD_BYTES + _LINE_TAIL_BYTES
#: Words for which `bytes.find` searches the middle, each in the spellings that programs print.
_TELLING = (b"nan", b"NaN", b"ran out of data", b"oom-kill", b"oom_kill", b"CANCELLED AT", b"arly stopping")
_MOST_TELLING = 50  # lines for each word
#: Control characters that no text has, as a share of its first bytes. Chosen: a log may have caught a few of them.
_NOT_TEXT = bytes(set(range(32)) - set(b"\t\n\r\x08\x0b\x0c\x1b\x07\x00"))
_MOST_NOT_TEXT = 0.05


@dataclass(frozen=True, slots=True)
class LogLine:
    number: int  # counted from 1
    text: str  # with carriage returns and control codes, without its line break


@dataclass(frozen=True, slots=True)
class ScannedLog:
    lines: tuple[LogLine, ...]  # in order; those between may be missing
    size: int  # bytes
    complete: bool  # no line is missing


def is_text(head: bytes) -> bool:
    """Whether the first bytes of a file are text: no zero bytes but those of UTF-16, and few control characters."""
    if encoding_of(head) != "utf-8":
        return True
    strange = len(head) - len(head.translate(None, _NOT_TEXT))
    return b"\0\0" not in head.rstrip(b"\0") and strange <= _MOST_NOT_TEXT * max(len(head), 1)


def scan(file: BinaryIO, first: bytes = b"") -> ScannedLog:
    """The lines of a log that matter; `first` has been read from it before."""
    scanner = _Scanner()
    for chunk in _as_utf8(file, first):
        scanner.feed(chunk)
    return scanner.finish()


def _as_utf8(file: BinaryIO, first: bytes) -> Iterator[bytes]:
    encoding = encoding_of(first)
    decoder = None if encoding == "utf-8" else codecs.getincrementaldecoder(encoding)("replace")
    chunk = first
    while chunk:
        yield chunk if decoder is None else decoder.decode(chunk).removeprefix("\ufeff").encode()
        chunk = file.read(_CHUNK_BYTES)


class _Scanner:
    """Lines that may turn out to be the tail are kept back; what is pushed out of it is the middle."""

    def __init__(self) -> None:
        self._kept: dict[int, bytes] = {}
        self._held = bytearray()  # complete lines
        self._line = b""  # the one that has no end yet, shortened
        self._next = 1  # number of the first line in `_held`
        self._size = 0
        self._told = dict.fromkeys(_TELLING, 0)
        self._complete = True

    def feed(self, chunk: bytes) -> None:
        self._size += len(chunk)
        data = self._line + chunk
        end = data.rfind(b"\n") + 1
        complete, self._line = data[:end], _shortened(data[end:])
        if _has_long_line(complete):
            complete = b"\n".join(_shortened(line) for line in complete.split(b"\n"))
        self._held += complete
        if len(self._held) > _TAIL_BYTES + _CHUNK_BYTES:
            self._release(len(self._held) - _TAIL_BYTES)

    def _release(self, size: int) -> None:
        end = self._held.find(b"\n", size) + 1 or len(self._held)
        middle = bytes(self._held[:end])
        del self._held[:end]
        first, self._next = self._next, self._next + middle.count(b"\n")
        head = _HEAD_BYTES if first == 1 else _SAMPLE_BYTES
        sample = middle[: middle.find(b"\n", head) + 1 or len(middle)]
        self._kept.update(enumerate(sample.split(b"\n")[:-1], start=first))
        self._complete = self._complete and len(sample) == len(middle)
        self._keep_telling(middle, first)

    def _keep_telling(self, middle: bytes, first: int) -> None:
        for word in _TELLING:
            number, counted_to = first, 0
            at = middle.find(word)
            while at >= 0 and self._told[word] < _MOST_TELLING:
                start, end = middle.rfind(b"\n", 0, at) + 1, middle.find(b"\n", at)
                number, counted_to = number + middle.count(b"\n", counted_to, start), start
                self._kept[number] = middle[start:end]
                self._told[word] += 1
                at = middle.find(word, end)

    def finish(self) -> ScannedLog:
        self._kept.update(enumerate(bytes(self._held).split(b"\n")[:-1], start=self._next))
        if self._line:
            self._kept[self._next + self._held.count(b"\n")] = self._line
        lines = sorted(self._kept.items())
        texts = tuple(LogLine(number, line.decode("utf-8", "replace").rstrip()) for number, line in lines)
        return ScannedLog(tuple(one for one in texts if one.text), self._size, self._complete)


def _shortened(line: bytes) -> bytes:
    if len(line) <= _LONGEST_LINE_BYTES:
        return line
    return line[:_LINE_HEAD_BYTES] + b"\r" + line[-_LINE_TAIL_BYTES:]


def _has_long_line(complete: bytes) -> bool:
    """Without splitting it, which takes ten times as long as all the rest."""
    at = 0
    while at < len(complete):
        at = complete.rfind(b"\n", at, at + _LONGEST_LINE_BYTES + 1) + 1
        if not at:
            return True
    return False
