"""Another process has locked the file."""

from __future__ import annotations

import re

from holdfast.explain.evidence import Evidence
from holdfast.explain.finding import Fact, Finding, Remedy, Strength
from holdfast.explain.grounds import file_named, matched, users_line


def file_locked(evidence: Evidence) -> Finding | None:
    said = matched(
        evidence,
        r"unable to lock file|errno ?= ?(11|37|35)\b.*lock|BlockingIOError|\[Errno (11|37)\].*(lock|open)|"
        r"Resource temporarily unavailable.*(file|h5|lock)|database is locked",
    )
    if said is None or re.search(r"fork|pthread|thread", said[1].fact):
        return None
    file = file_named(evidence.error_text + said[1].fact, r"h5|hdf5|keras|db|sqlite3?")
    enolck = "37" in said[1].fact or "No locks available" in evidence.error_text
    facts = [said[1], *users_line(evidence)]
    if "database is locked" in said[1].fact:
        return _database(file, facts)
    return Finding(
        "file-locked",
        Strength.ESTABLISHED,
        f"the file {file} is locked by another process".replace("  ", " ")
        if not enolck
        else "the file system does not support locks",
        tuple(facts),
        (),
        (
            Remedy("end the other process that has it open, or write to a file of its own", "your-choice"),
            Remedy("on a file system without locks", "your-choice", "HDF5_USE_FILE_LOCKING=FALSE"),
        ),
    )


def _database(file: str, facts: list[Fact]) -> Finding:
    """SQLite gives up when its time is over; who holds the lock may be this process itself."""
    return Finding(
        "file-locked",
        Strength.ESTABLISHED,
        f"the database {file} is locked by another connection, of this process or of another".replace(
            "  ", " "
        ),
        tuple(facts),
        (),
        (
            Remedy(
                "commit or close the other connection before this one writes",
                "your-choice",
                "connection.commit()",
            ),
            Remedy("wait longer for it", "your-choice", "sqlite3.connect(path, timeout=60)"),
        ),
    )


PAGE = """\
What it is
  HDF5 locks the files that it opens. A second run, a notebook or a viewer
  that has the same file open makes saving fail with errno 11; some network
  file systems know no locks at all (errno 37).

How Holdfast knows
  The exception says that a lock was refused.

How to make it happen
  Open `w.weights.h5` with h5py in another process, then save to it.

How to cure it
  One writer for one file.

When Holdfast would be wrong
  If errno 11 comes from something else than a file.
"""
