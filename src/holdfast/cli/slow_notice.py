"""A line on standard error when a part of a command takes long, because silence looks like a hang."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from holdfast.stderr import print_line

SLOW_AFTER_S = 3.0


@contextmanager
def notice_if_slow(
    doing: str, *, after_s: float = SLOW_AFTER_S, say: Callable[[str], None] = print_line
) -> Iterator[None]:
    """Prints what is being done, once, if it takes longer than `after_s`. Standard output is left alone."""
    done = threading.Event()

    def wait() -> None:
        if not done.wait(after_s):
            say(f"holdfast: {doing} …")

    threading.Thread(target=wait, daemon=True, name="holdfast-slow-notice").start()
    try:
        yield
    finally:
        done.set()
