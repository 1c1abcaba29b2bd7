"""One way to print a line on standard error and survive: a closed terminal never ends a run."""

from __future__ import annotations

import contextlib
import os
import sys

from holdfast.terminal_text import encodable, visible


def print_line(text: str) -> None:
    """Writes `text` and a newline to standard error. Errors are ignored.

    Writes to the descriptor, because a forked worker would inherit the lock of Python's buffer. Where `sys.stderr` was
    replaced by something without a descriptor, as in a notebook, it is used instead.
    """
    stream = sys.stderr
    with contextlib.suppress(OSError, ValueError, AttributeError):  # closed, or None as under pythonw
        try:
            descriptor = stream.fileno()
        except (OSError, ValueError):
            stream.write(f"{visible(text)}\n")
            stream.flush()
            return
        encoding = stream.encoding or "utf-8"
        shown = encodable(visible(text, colours=stream.isatty()), encoding)
        data = f"{shown}\n".encode(encoding, "backslashreplace")
        while data:
            data = data[os.write(descriptor, data) :]
