"""The arrays of one large JSON object, element by element, so that a file of gigabytes needs megabytes."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from typing import IO, Any

CHUNK_BYTES = 1 << 20
LARGEST_ELEMENT_CHARS = 64 << 20
_SPACE = " \t\n\r"


class BadJson(ValueError):
    """The text is not the JSON that was expected; the message says where."""

    def __init__(self, text: str, *, ends_early: bool = False) -> None:
        super().__init__(text)
        self.change = remedy(ends_early)


def remedy(ends_early: bool) -> str:
    return "the file may end early: copy or export it again" if ends_early else "export it again"


def ends_early(error: ValueError, length: int) -> bool:
    """Whether a decoder found no mistake before the end of the text, which has so many characters."""
    if not isinstance(error, json.JSONDecodeError):
        return False
    return error.pos >= length or error.msg.startswith("Unterminated string")


def without_advice(text: str) -> str:
    """Of an error of Python: what to do about a number of thousands of digits is said to programmers."""
    return text.partition("; use sys.")[0]


class _Text:
    """A window over a stream of text that grows until one value fits into it."""

    def __init__(self, handle: IO[bytes]) -> None:
        self._handle = handle
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self._json = json.JSONDecoder()
        self.buffer = ""
        self.place = 0
        self.consumed = 0  # characters before the buffer, for messages
        self.ended = False

    def grow(self) -> None:
        chunk = self._handle.read(max(CHUNK_BYTES, len(self.buffer) - self.place))
        self.ended = not chunk
        self.consumed += self.place
        self.buffer = self.buffer[self.place :] + self._decoder.decode(chunk, final=self.ended)
        self.place = 0

    def peek(self) -> str:
        """The next character that is not a space, or nothing at the end."""
        while True:
            while self.place < len(self.buffer) and self.buffer[self.place] in _SPACE:
                self.place += 1
            if self.place < len(self.buffer):
                return self.buffer[self.place]
            if self.ended:
                return ""
            self.grow()

    def take(self, expected: str) -> None:
        found = self.peek()
        if found != expected:
            raise BadJson(
                f"{expected!r} was expected at character {self.at}, and there is {found or 'the end'!r}",
                ends_early=not found,
            )
        self.place += 1

    def value(self) -> Any:
        self.peek()
        while True:
            try:
                value, end = self._json.raw_decode(self.buffer, self.place)
                if end < len(self.buffer) or self.ended:  # a number at the edge may go on
                    self.place = end
                    return value
            except RecursionError:
                raise BadJson(f"the value at character {self.at} is nested too deeply") from None
            except ValueError as error:
                if self.ended:
                    raise BadJson(
                        f"{without_advice(getattr(error, 'msg', str(error)))} at character {self.at}",
                        ends_early=ends_early(error, len(self.buffer.rstrip())),
                    ) from None
            if len(self.buffer) - self.place > LARGEST_ELEMENT_CHARS:
                raise BadJson(f"the value at character {self.at} is larger than 64 MiB, or is not JSON")
            self.grow()

    @property
    def at(self) -> int:
        return self.consumed + self.place


def top_level(handle: IO[bytes]) -> Iterator[tuple[str, Any]]:
    """Key and element for every element of a top-level array; key and value for any other value."""
    text = _Text(handle)
    text.take("{")
    if text.peek() == "}":
        return
    while True:
        key = text.value()
        if not isinstance(key, str):
            raise BadJson(f"a key was expected before character {text.at}")
        text.take(":")
        if text.peek() == "[":
            for element in _elements(text):
                yield key, element
        else:
            yield key, text.value()
        if text.peek() != ",":
            break
        text.take(",")
    text.take("}")


def _elements(text: _Text) -> Iterator[Any]:
    text.take("[")
    if text.peek() == "]":
        text.take("]")
        return
    while True:
        yield text.value()
        if text.peek() == "]":
            text.take("]")
            return
        text.take(",")
