"""Samples of what the operating system knows about a run: one JSON line each, about one a second.

A sample has the newest beat as well, so that memory can be compared with steps without the ring, which keeps only the
last few thousand beats.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from holdfast import regular_file
from holdfast.journal.typed_values import fitting

LINE_BYTES = 1 << 20
_MOST_BYTES = 512 << 20  # of a file: a sample a second for a week


@dataclass(frozen=True, slots=True)
class Process:
    """A descendant of the watched command."""

    pid: int = 0
    parent: int = 0
    name: str = ""
    state: str = ""
    rss_bytes: int = 0
    private_bytes: int | None = None  # USS where it could be read
    cpu_s: float = 0.0
    threads: int = 0


@dataclass(frozen=True, slots=True)
class Sample:
    at: float = 0.0
    mono: float = 0.0
    attempt: int = 1
    pid: int = 0  # of the training process, else of the command
    state: str = ""  # R, S, D, T, Z
    rss_bytes: int = 0
    pss_bytes: int | None = None  # now and then: it is expensive to read
    shared_bytes: int | None = None
    swap_bytes: int | None = None
    virtual_bytes: int | None = None
    cpu_s: float = 0.0  # user and system, of this process
    system_s: float = 0.0
    read_bytes: int | None = None  # by this process, from disk or cache (rchar)
    disk_read_bytes: int | None = None
    written_bytes: int | None = None
    major_faults: int = 0
    threads: int = 0
    thread_states: dict[str, int] = field(default_factory=dict)  # {"S": 40, "R": 2}
    busy_threads: int | None = None  # threads that used more than a fifth of a core since the last sample
    waits: dict[str, int] = field(default_factory=dict)  # wait channels of threads: {"futex_do_wait": 38}
    open_files: int | None = None
    processes: list[Process] = field(default_factory=list)  # descendants, without the one above
    tree_rss_bytes: int = 0
    memory_used_bytes: int | None = None  # of the control group, without page cache
    memory_limit_bytes: int | None = None
    memory_available_bytes: int | None = None  # of the machine
    swap_in_pages: int | None = None  # of the machine, in all (pswpin)
    oom_kills: int | None = None
    pids_refused: int | None = None
    disks_free_bytes: dict[str, int] = field(default_factory=dict)  # by what: run, tmp, shm, cwd, checkpoint
    # avg10 of "memory.some", "memory.full", "io.some", "cpu.some"
    pressure: dict[str, float] = field(default_factory=dict)
    load1: float | None = None
    # {"used_bytes", "total_bytes", "utilisation", "ours_bytes", "ours_utilisation", "others": […]}
    gpus: list[dict[str, Any]] = field(default_factory=list)
    output_bytes: int = 0  # printed by the child so far
    phase: str = ""  # of the newest beat; empty when there is none
    beat_age_s: float | None = None
    fit: int = 0
    epoch: int = 0
    step: int = 0
    train_batches: int = 0
    test_batches: int = 0
    data_wait_s: float = 0.0
    compute_s: float = 0.0
    loss: float | None = None
    # {"step", "of", "epoch", "of_epochs", "loss"} as the command prints them, where no beat has them
    printed: dict[str, Any] = field(default_factory=dict)
    step_s: float | None = None  # median of the steps since the last sample


def encode(sample: Sample) -> bytes:
    """One line, without empty values."""
    values = {name: value for name, value in asdict(sample).items() if value not in (None, "", [], {})}
    return json.dumps(values, default=str).encode() + b"\n"


def decode(line: bytes) -> Sample | None:
    """None for a line that is no sample. A value of another type than its field has is left out."""
    try:
        values = regular_file.parse_json(line)
        listed = values.get("processes") or []
        processes = [Process(**fitting(Process, one)[0]) for one in listed if isinstance(one, dict)]
        kept, _ = fitting(Sample, {name: value for name, value in values.items() if name != "processes"})
        sample = Sample(**kept, processes=processes)
    except (ValueError, TypeError, AttributeError):
        return None
    return sample if math.isfinite(sample.at) and math.isfinite(sample.mono) else None


def read(path: Path) -> Iterator[tuple[int, Sample]]:
    """Line number and sample; lines that are cut off are skipped."""
    try:
        file = regular_file.open_regular(path, links=False)
    except OSError:
        return
    with file:
        number = 0
        while file.tell() < _MOST_BYTES and (line := file.readline(LINE_BYTES)):
            number += 1
            sample = decode(line) if line.endswith(b"\n") else None
            if sample is not None:
                yield number, sample
