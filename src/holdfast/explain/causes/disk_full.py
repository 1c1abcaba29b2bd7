"""A file system is full."""

from __future__ import annotations

import re

from holdfast.explain.evidence import Evidence
from holdfast.explain.finding import Fact, Finding, Remedy, Strength
from holdfast.explain.grounds import file_named, full_disk, going_on, users_line
from holdfast.explain.words import clipped, size
from holdfast.journal import events as ev


def disk_full(evidence: Evidence) -> Finding | None:
    failed = next(
        (said for said in reversed(evidence.all(ev.SaveFailed)) if said.event.errno in (28, 122)), None
    )
    said = full_disk(evidence)
    by_errno = evidence.error is not None and evidence.error.errno in (28, 122)
    if (failed is None and said is None and not by_errno) or (evidence.exit_code == 0 and failed is None):
        return None
    text = (said[1].fact if said is not None else "") + evidence.error_text
    if "/dev/shm" in text and failed is None:
        return None
    facts = [said[1]] if said is not None else []
    path = (
        failed.event.path if failed is not None else _path(evidence, said[1].fact if said is not None else "")
    )
    if failed is not None:
        free = f"; {size(failed.event.free_bytes)} were free" if failed.event.free_bytes is not None else ""
        facts.append(
            Fact(
                f"saving {failed.event.path} ended with {clipped(failed.event.error, 120)}{free}",
                failed.source,
            )
        )
    facts += users_line(evidence)
    full = [
        (line, what, free)
        for line, s in evidence.samples[-1:]
        for what, free in s.disks_free_bytes.items()
        if free < (8 << 20)
    ]
    facts += [
        Fact(f"the disk of '{what}' had {size(free)} left", f"vitals.jsonl:{line}")
        for line, what, free in full
    ]
    if evidence.exit_signal == "SIGSEGV":
        facts.append(
            Fact(
                "the crash (SIGSEGV) followed from it: HDF5 does not survive a full disk",
                evidence.exit_source,
            )
        )
    certain = (
        failed is not None
        or by_errno
        or (
            said is not None
            and ("28" in said[1].fact or "No space" in said[1].fact or "quota" in said[1].fact)
        )
    )
    return Finding(
        "disk-full",
        Strength.ESTABLISHED if certain else Strength.SUPPORTED,
        f"the disk is full{f' at {path}' if path else ''}: a file could not be written",
        tuple(facts),
        (),
        (
            Remedy("make room, or write checkpoints to a larger disk", "your-choice"),
            going_on(evidence, first="make room, then ")
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


PAGE = """\
What it is
  A checkpoint, a cache file or a log did not fit. It comes in disguise:
  `.weights.h5` on a full disk ends in SIGSEGV with "errno = 28" in the
  output; TensorFlow says "Resource exhausted … tempstate", which reads like
  memory.

How Holdfast knows
  errno 28 in an exception, in a failed save or in the last lines, and the
  free space of the disks.

How to make it happen
  ModelCheckpoint into a file system of 2 MiB.

How to cure it
  Make room; keep fewer checkpoints; write somewhere else. Check the last
  checkpoint: Keras overwrites in place.

When Holdfast would be wrong
  If a quota or a limit on file size was hit instead (errno 122, 27).
"""
