"""Captured stacks: one JSON file a capture under `stacks/`, with several snapshots of all threads of all processes.

Three snapshots distinguish waiting from slow progress: a thread whose frames and CPU time do not change waits, one
whose frames do not change while its CPU time rises is busy in one call, one whose frames change is working.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from .. import atomic_write
from ..secret_text import redacted_values

_MOST_BYTES = 64 << 20
_NESTED = ("looks", "processes", "threads", "frames")


@dataclass(frozen=True, slots=True)
class Frame:
    file: str = ""
    line: int = 0
    function: str = ""
    code: str = ""  # the text of the line, for the user's own files: it names the lock or the call
    yields: bool = False  # its function is a generator
    endless: bool = False  # the loop around the line has no end
    connects: bool = False  # the loop around the line connects to another process


@dataclass(frozen=True, slots=True)
class Thread:
    tid: int = 0
    name: str = ""
    state: str = ""  # R, S, D, T as in /proc
    wait: str = ""  # wait channel, e.g. futex_do_wait, anon_pipe_read
    syscall: str = ""  # name or number, and its first argument where it is a file: "read fd=0 (/dev/pts/1)"
    cpu_s: float = 0.0
    frames: list[Frame] = field(default_factory=list)  # Python, innermost first; empty for a native thread
    native: list[str] = field(default_factory=list)  # native frames where they could be read, innermost first
    main: bool = False
    holds_interpreter: bool = False
    socket: dict[str, Any] = field(
        default_factory=dict
    )  # that a main thread waits for: state, port, bytes each way


@dataclass(frozen=True, slots=True)
class ProcessStacks:
    pid: int = 0
    parent: int = 0
    name: str = ""
    command: str = ""
    state: str = ""
    trains: bool = False  # the process that writes heartbeats
    source: str = ""  # py-spy | faulthandler | none
    error: str = ""  # why there are no Python frames
    threads: list[Thread] = field(default_factory=list)
    reads: list[str] = field(default_factory=list)  # pipes whose reading end it has open: "pipe:[4711]"
    writes: list[str] = field(default_factory=list)  # pipes and FIFOs that it has open to write
    makes_pipes: list[str] = field(default_factory=list)  # lines of the user's that start a program with PIPE


@dataclass(frozen=True, slots=True)
class StackSnapshot:
    mono: float = 0.0
    processes: list[ProcessStacks] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Capture:
    at: float = 0.0
    reason: str = ""  # stall | before-kill | group
    phase: str = ""
    step: int = 0
    looks: list[StackSnapshot] = field(default_factory=list)


def write(path: Path, capture: Capture) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    # Not synced: the disk may be what stalls, and the supervisor must not wait for it too.
    atomic_write.write_text(
        path, json.dumps(redacted_values(asdict(capture)), default=str), sync=False, private=True
    )


def read(path: Path) -> Capture | None:
    """The capture, or None when the file is corrupt or of another format."""
    from ..regular_file import read_json

    try:
        values = read_json(path, most=_MOST_BYTES, links=False)
        looks = [_snapshot(snapshot) for snapshot in values["looks"]]
        return Capture(**{**_fitting(Capture, values), "looks": looks})
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def _snapshot(values: dict[str, Any]) -> StackSnapshot:
    return StackSnapshot(float(values["mono"]), [_process(process) for process in values["processes"]])


def _process(values: dict[str, Any]) -> ProcessStacks:
    threads = [_thread(thread) for thread in values["threads"]]
    return ProcessStacks(**{**_fitting(ProcessStacks, values), "threads": threads})


def _thread(values: dict[str, Any]) -> Thread:
    frames = [Frame(**_fitting(Frame, frame)) for frame in values["frames"]]
    return Thread(**{**_fitting(Thread, values), "frames": frames})


def _fitting(kind: type, values: dict[str, Any]) -> dict[str, Any]:
    from .typed_values import fitting  # of the reader's side; the writer's runs in older Pythons too

    return fitting(kind, {name: value for name, value in values.items() if name not in _NESTED})[0]
