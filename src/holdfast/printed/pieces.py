"""From the bytes of an output to readable pieces of text: no control codes, one state of a progress bar each.

A progress bar overwrites its line with carriage returns, backspaces or cursor movements; each state becomes a piece.
"""

from __future__ import annotations

import codecs
import re

_LONGEST_PIECE = 64 << 10  # bytes; a line without an end is cut there
#: Cursor movements start a new state of a bar; colours and the like are dropped.
_MOVES = re.compile(r"\x1b\[\d*(?:;\d*)?[ABEFGHJKfd]|\x1b[78DEM]")
_CODES = re.compile(
    r"\x1b\[[0-9;?<=>]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[()][0-9A-B]|"
    r"\x1b.?|[\x00-\x07\x0b-\x1f\x7f]"
    r"|(?<!\w)\[(?:\d{1,2};)?\d{1,2}m"  # the escape itself was lost
)
_OVERWRITES = re.compile(r"\r|\x08+")
#: Bars whose control codes were lost stand one after the other on a line.
_JOINED = re.compile(
    r"(?<=\S)\s*(?=\b\d+/(?:\d+|Unknown) \[[=>.]+\])|(?<=\])\s*(?=\d+%\|)|(?<=\S)\s+(?=\d+/\d+ ━+)"
)
_BOMS = ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))


def split(line: str) -> list[str]:
    """The pieces of one line of output, each without control codes; empty ones are left out."""
    if line.isascii() and line.isprintable():
        states = [line]
    else:
        states = [_CODES.sub("", state) for state in _OVERWRITES.split(_MOVES.sub("\r", line))]
    return [piece.rstrip() for state in states for piece in _JOINED.split(state) if piece.strip()]


class OutputSplitter:
    """Splits an output that arrives in chunks. `pending` is the text after the last line break."""

    def __init__(self) -> None:
        self._rest = b""
        self._encoding = ""

    def feed(self, data: bytes) -> list[str]:
        """The pieces that are complete now."""
        if not self._encoding and data:
            self._encoding = encoding_of(data)
            data = data.removeprefix({name: bom for bom, name in _BOMS}.get(self._encoding, b""))
        data = self._rest + data
        end = self._last_break(data)
        self._rest = data[end:][-_LONGEST_PIECE:]
        return self._pieces(data[:end])

    @property
    def pending(self) -> list[str]:
        """What is printed of a line that has no end yet: the newest state of a bar, a prompt."""
        return self._pieces(self._rest)

    def _last_break(self, data: bytes) -> int:
        if self._encoding.startswith("utf-16"):
            width, little = 2, self._encoding.endswith("le")
            at = max(data.rfind(b"\n\0" if little else b"\0\n"), data.rfind(b"\r\0" if little else b"\0\r"))
            return at + width if at >= 0 else 0
        return max(data.rfind(b"\n"), data.rfind(b"\r"), data.rfind(b"\x08")) + 1

    def _pieces(self, data: bytes) -> list[str]:
        text = data.decode(self._encoding or "utf-8", "replace")
        return [piece for line in text.split("\n") for piece in split(line)]


def pieces(data: bytes) -> list[str]:
    """All pieces of a complete output."""
    splitter = OutputSplitter()
    return splitter.feed(data) + splitter.pending


def encoding_of(data: bytes) -> str:
    """UTF-16 where its mark or its zero bytes show it (a redirection in PowerShell), otherwise UTF-8."""
    for bom, name in _BOMS:
        if data.startswith(bom):
            return name
    head = data[:400]
    if len(head) >= 8 and head[1::2].count(0) > len(head) * 0.4:
        return "utf-16-le"
    return "utf-8"
