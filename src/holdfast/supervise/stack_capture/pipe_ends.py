"""Pipes between the processes of a run: who has the reading end, and which line of the source created it."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterable
from pathlib import Path

from holdfast.host import descriptors

_MAX_FILES = 4096
_MAX_CHARACTERS = 400_000
_NO_FIFOS = ("/dev/", "/proc/", "/sys/")
_STREAMS = ("stdin", "stdout", "stderr")


def open_read_ends(pid: int) -> list[str]:
    """The pipes of which the process has the reading end: ``pipe:[4711]``."""
    return [
        name
        for number, name in descriptors.links(pid, most=_MAX_FILES)
        if name.startswith("pipe:") and not descriptors.is_open_to_write(pid, number)
    ]


def open_write_ends(pid: int) -> list[str]:
    """The pipes and FIFOs that the process has open to write: ``pipe:[4711]``, ``/data/frames.fifo``."""
    writable = [
        (number, name)
        for number, name in descriptors.links(pid, most=_MAX_FILES)
        if name.startswith(("pipe:", "/")) and not name.startswith(_NO_FIFOS)
        if descriptors.is_open_to_write(pid, number)
    ]
    files = {name: f"/proc/{pid}/fd/{number}" for number, name in writable if name.startswith("/")}
    fifos = set(descriptors.fifos_among(files))
    return sorted({name for _, name in writable if name.startswith("pipe:") or name in fifos})


def pipe_creation_lines(files: Iterable[str]) -> list[str]:
    """Lines in these sources that start a program with a pipe to it: ``/home/me/launch.py:4``."""
    return [f"{file}:{line}" for file in dict.fromkeys(files) for line in _lines(file)]


@functools.lru_cache(maxsize=64)
def _lines(file: str) -> tuple[int, ...]:
    try:
        text = Path(file).read_text(errors="replace")
        tree = ast.parse(text) if len(text) < _MAX_CHARACTERS else ast.Module([], [])
    except (OSError, SyntaxError, ValueError):
        return ()
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    return tuple(call.lineno for call in calls if _starts_with_pipe(call))


def _starts_with_pipe(call: ast.Call) -> bool:
    if _name(call.func) != "Popen":
        return False
    given = (keyword.value for keyword in call.keywords if keyword.arg in _STREAMS)
    return any(_name(value) == "PIPE" or getattr(value, "value", None) == -1 for value in given)


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
