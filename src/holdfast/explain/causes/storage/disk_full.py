"""A file system is full."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.readings.error import FULL_DISK, file_named
from holdfast.explain.readings.recorded import Recorded
from holdfast.explain.unconverted import Fact, Finding, Remedy, Strength, full_disk, going_on, users_line
from holdfast.explain.words import clipped, size
from holdfast.journal import events as ev

_FULL = (28, 122, 27)
_MAY_NOT_GROW = 27  # a limit on the size of one file: the disk may have room


@cause(
    "disk-full",
    Group.STORAGE,
    specialises=(
        "script-error",
        "native-crash",
        "callback-raised",
    ),
)
def disk_full(evidence: Evidence) -> Finding | None:
    failed = _failed(evidence)
    said = full_disk(evidence)
    by_errno = evidence.error is not None and evidence.error.errno in _FULL
    by_limit = evidence.exit_signal == "SIGXFSZ"
    if not (evidence.went_wrong or evidence.stall) or (said is None and not by_errno and not by_limit):
        return _went_on(evidence, failed)
    text = (said[1].fact if said is not None else "") + evidence.error_text
    if "/dev/shm" in text and failed is None:
        return None
    facts = [said[1]] if said is not None else []
    facts += _of_the_save(failed)
    facts += users_line(evidence)
    facts += _room_left(evidence)
    limit = _is_a_limit(failed, text) or by_limit
    facts += _limit_set(evidence) if limit else []
    if evidence.exit_signal in ("SIGSEGV", "SIGXFSZ"):
        why = (
            "HDF5 does not survive a full disk"
            if evidence.exit_signal == "SIGSEGV"
            else "the kernel's word for it"
        )
        facts.append(
            Fact(f"the crash ({evidence.exit_signal}) followed from it: {why}", evidence.exit_source)
        )
    certain = (
        failed is not None
        or by_errno
        or by_limit
        or (said is not None and re.search(r"2[78]|No space|quota|too large", said[0][0]) is not None)
    )
    path = (
        failed.event.path if failed is not None else _path(evidence, said[1].fact if said is not None else "")
    )
    return _finding(
        evidence,
        Strength.ESTABLISHED if certain else Strength.SUPPORTED,
        _title(path, may_not_grow=limit),
        facts,
    )


def _went_on(evidence: Evidence, failed: Recorded[ev.SaveFailed] | None) -> Finding | None:
    """The script caught it, and what ended it, if anything did, is another matter. A later save was its way out."""
    if failed is None:
        line = None if evidence.went_wrong else evidence.output.last(FULL_DISK.pattern)
        if line is None or evidence.all(ev.SaveDone) or "/dev/shm" in line.text:
            return None
        title = _title(file_named(line.text), may_not_grow=bool(re.search(r"27\b|too large", line.text)))
        facts, strength = [Fact(clipped(line.text), line.source)], Strength.SUPPORTED
    else:
        title = _title(failed.event.path, may_not_grow=_is_a_limit(failed, ""))
        facts, strength = _of_the_save(failed), Strength.ESTABLISHED
        kind = Path(failed.event.path).suffix  # a history in another file is no model saved
        saved = [
            said
            for said in evidence.all(ev.SaveDone)
            if said.line > failed.line and Path(said.event.path).suffix == kind
        ]
        if saved:
            facts.append(
                Fact(f"saving {saved[-1].event.path or 'again'} succeeded after it", saved[-1].source)
            )
            strength = Strength.POSSIBLE
    facts += _room_left(evidence)
    finding = _finding(evidence, strength, f"{title}; the script caught it and went on", facts)
    return replace(finding, ends=False)


def _failed(evidence: Evidence) -> Recorded[ev.SaveFailed] | None:
    for said in reversed(evidence.all(ev.SaveFailed)):
        if said.event.errno in _FULL or re.search(r"\d+ requested and \d+ written", said.event.error):
            return said
    return None


def _is_a_limit(failed: Recorded[ev.SaveFailed] | None, text: str) -> bool:
    if failed is not None and failed.event.errno is not None:
        return failed.event.errno == _MAY_NOT_GROW
    return bool(re.search(r"File too large|rrno ?=? ?27\b", text))


def _title(path: str, *, may_not_grow: bool) -> str:
    at = f" at {path}" if path else ""
    if may_not_grow:
        return f"a file may not grow larger{at}: a limit on the size of a file (ulimit -f) was reached"
    return f"the disk is full{at}: a file could not be written"


def _of_the_save(failed: Recorded[ev.SaveFailed] | None) -> list[Fact]:
    if failed is None:
        return []
    event = failed.event
    free = f"; {size(event.free_bytes)} were free" if event.free_bytes is not None else ""
    where = f" ({event.where})" if event.where else ""
    return [Fact(f"saving {event.path}{where} ended with {clipped(event.error, 120)}{free}", failed.source)]


def _room_left(evidence: Evidence) -> list[Fact]:
    return [
        Fact(f"the disk of '{what}' had {size(free)} left", f"vitals.jsonl:{line}")
        for line, sample in evidence.samples[-1:]
        for what, free in sample.disks_free_bytes.items()
        if free < (8 << 20)
    ]


def _limit_set(evidence: Evidence) -> list[Fact]:
    machine = evidence.last(ev.MachineRead)
    limit = machine.event.rlimits.get("fsize") if machine is not None else None
    if machine is None or limit is None:
        return []
    return [Fact(f"no file may be larger than {size(limit)} (ulimit -f)", machine.source)]


def _finding(evidence: Evidence, strength: Strength, title: str, facts: list[Fact]) -> Finding:
    limit = title.startswith("a file may not grow")
    return Finding(
        "disk-full",
        strength,
        title,
        tuple(facts),
        (),
        (
            Remedy("raise the limit (`ulimit -f unlimited`), or write in smaller pieces", "your-choice")
            if limit
            else Remedy("make room, or write checkpoints to a larger disk", "your-choice"),
            going_on(evidence, first="raise it, then " if limit else "make room, then ")
            or Remedy(
                "keep fewer checkpoints, and beware: the last one was overwritten in place and may be torn",
                "your-choice",
                'keras.callbacks.ModelCheckpoint("best.keras", save_best_only=True)',
            ),
        ),
    )


def _path(evidence: Evidence, text: str) -> str:
    saving = evidence.last(ev.SaveStarted)
    named = re.search(r"(?:name|filename) ?= ?'([^']+)'", text + evidence.error_text)
    if named:
        return named[1]
    quoted = re.search(r"No space left on device[^'\n]*'([^']+)'", text + evidence.error_text)
    return quoted[1] if quoted else saving.event.path if saving is not None else file_named(text)
