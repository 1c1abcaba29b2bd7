"""Text for a terminal: errors as blocks, without colour too, wrapped to the width at hand."""

from __future__ import annotations

import os
import shutil
import textwrap
from collections.abc import Iterable
from typing import TextIO

from holdfast.errors import HoldfastError

_LABEL_WIDTH = 10
BOLD, RED, DIM, PLAIN = "\x1b[1m", "\x1b[31m", "\x1b[2m", "\x1b[0m"


def render_error(error: HoldfastError, *, width: int = 80, colour: bool = False) -> str:
    """What, where, found, change, more; a slot with nothing to say is left out."""
    head = f"error[{error.slug}]: "
    lines = wrap(head + error.what, width=width, hang=2)
    if colour:
        lines[0] = f"{RED}{BOLD}{head}{PLAIN}{BOLD}{lines[0][len(head) :]}{PLAIN}"
    for label, texts in (
        ("where", [error.where] if error.where else []),
        ("found", error.found),
        ("change", error.advised),
        ("more", [error.more] if error.more else []),
    ):
        lines += labelled(label, texts, width=width, colour=colour)
    return "\n".join(lines)


def labelled(label: str, texts: Iterable[str], *, width: int = 80, colour: bool = False) -> list[str]:
    """Lines with the label in front of the first and all text in one column."""
    body = [
        part
        for text in texts
        for line in text.split("\n")
        for part in wrap(line, width=width - _LABEL_WIDTH, hang=2)
    ]
    if not body:
        return []
    name = f"  {label:<{_LABEL_WIDTH - 2}}"
    first = (f"{DIM}{name}{PLAIN}" if colour else name) + body[0]
    return [first, *(" " * _LABEL_WIDTH + line for line in body[1:])]


def wrap(text: str, *, width: int, hang: int = 0) -> list[str]:
    """Folds at spaces; a long path or command is never broken inside."""
    return textwrap.wrap(
        text,
        width=max(width, 20),
        subsequent_indent=" " * hang,
        break_long_words=False,
        break_on_hyphens=False,
    ) or [""]


def terminal_width(stream: TextIO) -> int:
    """80 columns where the stream is no terminal, so that stored text does not depend on the window."""
    return min(shutil.get_terminal_size((80, 24)).columns, 110) if stream.isatty() else 80


def wants_colour(stream: TextIO) -> bool:
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
