"""A progress line on a terminal; nothing anywhere else."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TextIO, TypeVar

from holdfast.terminal_text import write_control

Item = TypeVar("Item")
EVERY_S = 0.1


def tracked(
    items: Iterable[Item],
    what: str,
    total: int | None = None,
    *,
    stream: TextIO | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[Item]:
    """The items, while a line on a terminal counts them."""
    out = stream or sys.stderr
    if not out.isatty():
        yield from items
        return
    started = last = clock()
    count = 0
    try:
        for item in items:
            yield item
            count += 1
            now = clock()
            if now - last >= EVERY_S:
                last = now
                write_control(out, "\r\x1b[K")
                out.write(line(what, count, total, now - started))
                out.flush()
    finally:
        write_control(out, "\r\x1b[K")
        out.flush()


def line(what: str, count: int, total: int | None, elapsed_s: float) -> str:
    speed = count / elapsed_s if elapsed_s > 0 else 0.0
    if not total:
        return f"{what} {count}  {speed:.0f}/s"
    filled = min(20, 20 * count // total)
    left_s = (total - count) / speed if speed else 0.0
    return f"{what} [{'#' * filled}{'.' * (20 - filled)}] {count}/{total}  {speed:.0f}/s  {left_s:.0f} s left"
