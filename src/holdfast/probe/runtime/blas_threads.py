"""NumPy's linear algebra in one thread for a while.

OpenBLAS starts a thread on each core, and each waits for the others by spinning: on cores that are busy, what one
thread does in a second took it more than a minute (six trainings on 16 cores, 2026-11-19).
"""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

_PREFIXES = ("scipy_openblas", "openblas")
_SUFFIXES = ("64_", "", "_64_")


@contextlib.contextmanager
def one_thread(maps: Path = Path("/proc/self/maps")) -> Iterator[None]:
    """Of the process, not of its Python threads: only for work that is short."""
    before = []
    for read, write in _libraries(maps):
        before.append((write, read()))
        write(1)
    try:
        yield
    finally:
        for write, count in before:
            write(count)


def _libraries(maps: Path) -> list[tuple[Callable[[], int], Callable[[int], Any]]]:
    """Of each OpenBLAS that the process has loaded: what reads and what sets its number of threads."""
    try:
        words = [line.split(None, 5) for line in maps.read_text().splitlines()]
    except OSError:  # another system
        return []
    paths = {parts[5] for parts in words if len(parts) == 6 and "openblas" in parts[5]}
    found = [_functions(path) for path in sorted(paths)]
    return [functions for functions in found if functions is not None]


def _functions(path: str) -> tuple[Callable[[], int], Callable[[int], Any]] | None:
    try:
        library = ctypes.CDLL(path)
    except OSError:
        return None
    for prefix in _PREFIXES:
        for suffix in _SUFFIXES:
            read = getattr(library, f"{prefix}_get_num_threads{suffix}", None)
            write = getattr(library, f"{prefix}_set_num_threads{suffix}", None)
            if read is not None and write is not None:
                return read, write
    return None
