"""A line on standard error when a part of a command takes long, for silence looks like a hang."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

LONG_S = 3.0


@contextmanager
def patience(
    doing: str, *, after_s: float = LONG_S, say: Callable[[str], None] | None = None
) -> Iterator[None]:
    """Says what is being done, once, if it is not done after a while. Standard output is left alone."""
    done = threading.Event()

    def wait() -> None:
        if not done.wait(after_s):
            (say or _say)(f"holdfast: {doing} …")

    threading.Thread(target=wait, daemon=True, name="holdfast-patience").start()
    try:
        yield
    finally:
        done.set()


def _say(text: str) -> None:
    """Past Python's own buffer, whose lock a forked worker would inherit."""
    with contextlib.suppress(OSError):
        os.write(2, f"{text}\n".encode())
