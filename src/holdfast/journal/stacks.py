"""Captured stacks: one JSON file a capture under `stacks/`, several looks at all threads of all processes.

Three looks tell a wait from a crawl: a thread whose frames and processor time stand still waits, one
whose frames stand still while its time runs is busy in one call, one whose frames move is at work.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from .. import atomic_write


@dataclass(frozen=True, slots=True)
class Frame:
    file: str = ""
    line: int = 0
    function: str = ""
    code: str = (
        ""  # wanted by explain: the text of the line, for files of the user's own; names the lock or the call
    )


@dataclass(frozen=True, slots=True)
class Thread:
    tid: int = 0
    name: str = ""
    state: str = ""  # R, S, D, T as /proc has it
    wait: str = ""  # wait channel, e.g. futex_do_wait, anon_pipe_read
    syscall: str = ""  # name or number, and its first argument where it is a file: "read fd=0 (/dev/pts/1)"
    cpu_s: float = 0.0
    frames: list[Frame] = field(default_factory=list)  # Python, innermost first; empty for a native thread
    native: list[str] = field(default_factory=list)  # native frames where they could be had, innermost first
    main: bool = False
    holds_interpreter: bool = False


@dataclass(frozen=True, slots=True)
class ProcessStacks:
    pid: int = 0
    parent: int = 0
    name: str = ""
    command: str = ""
    state: str = ""
    trains: bool = False  # the process that beats
    source: str = ""  # py-spy | faulthandler | none
    error: str = ""  # why there are no Python frames
    threads: list[Thread] = field(default_factory=list)
    reads: list[str] = field(default_factory=list)  # pipes whose reading end it holds: "pipe:[4711]"
    makes_pipes: list[str] = field(default_factory=list)  # lines of the user's that start a program with PIPE


@dataclass(frozen=True, slots=True)
class Look:
    mono: float = 0.0
    processes: list[ProcessStacks] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Capture:
    at: float = 0.0
    reason: str = ""  # stall | before-kill | asked
    phase: str = ""
    step: int = 0
    looks: list[Look] = field(default_factory=list)


def write(path: Path, capture: Capture) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    # Not synced: a stall may be the disk's, and the supervisor must not wait for it too.
    atomic_write.write_text(path, json.dumps(asdict(capture), default=str), sync=False)


def read(path: Path) -> Capture | None:
    """The capture, or None when the file is torn or of another shape."""
    try:
        values = json.loads(path.read_bytes())
        return Capture(**{**values, "looks": [_look(look) for look in values["looks"]]})
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _look(values: dict[str, Any]) -> Look:
    return Look(values["mono"], [_process(process) for process in values["processes"]])


def _process(values: dict[str, Any]) -> ProcessStacks:
    return ProcessStacks(**{**values, "threads": [_thread(thread) for thread in values["threads"]]})


def _thread(values: dict[str, Any]) -> Thread:
    return Thread(**{**values, "frames": [Frame(**frame) for frame in values["frames"]]})
