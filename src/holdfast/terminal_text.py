"""The one place where text meets a terminal: control characters of strangers are shown, not executed.

Class names, file names, exceptions and host names come from files and networks. A terminal would obey the escape
sequences in them: clear the screen, paint another verdict, change the title. So `main` puts `VisibleText` around
standard output and standard error, and `print_line` goes through `visible`: a control character becomes `\\u001b`,
which JSON reads back as what it was. Our own movements of the cursor go through `write_control`; of escape sequences
in text only our own colours pass, on a terminal.

What the encoding of the stream lacks is written the same way, so that output never fails for lack of a character set.
"""

from __future__ import annotations

import codecs
import contextlib
import re
import sys
from collections.abc import Iterator
from typing import Any, TextIO

#: C0 without newline and tab, DEL, C1, directions of writing that reorder a line, line separators, halves of
#: surrogate pairs.
_CONTROL = (
    "[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069\\ud800-\\udfff]"
)
_HIDDEN = re.compile(_CONTROL)
_HIDDEN_OR_COLOUR = re.compile(rf"\x1b\[(?:0|1|2|31|32|33|36)m|{_CONTROL}")
_ESCAPE = "holdfast.visible"


def visible(text: str, *, colours: bool = False) -> str:
    """The text with each control character as `\\uXXXX`; `colours` lets those through that we print ourselves."""
    if text.isascii() and text.isprintable():
        return text
    return (_HIDDEN_OR_COLOUR if colours else _HIDDEN).sub(_shown, text)


def _shown(match: re.Match[str]) -> str:
    found = match[0]
    return found if len(found) > 1 else f"\\u{ord(found):04x}"


def encodable(text: str, encoding: str) -> str:
    """What `encoding` lacks as `\\uXXXX`, as JSON writes it."""
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.encode(encoding, _ESCAPE).decode(encoding)
    return text


def _escaped(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{lacking[at : at + 4]}" for at in range(0, len(lacking), 4)), error.end


codecs.register_error(_ESCAPE, _escaped)


class VisibleText:
    """A text stream that shows control characters; everything else is the stream's own."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._colours = stream.isatty()
        self._encoding = stream.encoding or "utf-8"

    def write(self, text: str) -> int:
        self._stream.write(encodable(visible(text, colours=self._colours), self._encoding))
        return len(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def write_control(self, sequence: str) -> None:
        self._stream.write(sequence)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def write_control(stream: Any, sequence: str) -> None:
    """A movement of the cursor, from our own code alone."""
    (stream.write_control if isinstance(stream, VisibleText) else stream.write)(sequence)


@contextlib.contextmanager
def installed() -> Iterator[None]:
    """Around standard output and standard error, and taken away at the end."""
    before = sys.stdout, sys.stderr
    if sys.stdout is not None:  # None as under pythonw, or with a descriptor that is closed
        sys.stdout = _wrapped(sys.stdout)
    if sys.stderr is not None:
        sys.stderr = _wrapped(sys.stderr)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def _wrapped(stream: TextIO) -> TextIO:
    return stream if isinstance(stream, VisibleText) else VisibleText(stream)  # type: ignore[return-value]
