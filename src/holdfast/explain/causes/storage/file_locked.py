"""Another process has locked the file."""

from __future__ import annotations

import re

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.readings.error import file_named
from holdfast.explain.unconverted import Fact, Finding, Remedy, Strength, matched, users_line


@cause(
    "file-locked",
    Group.STORAGE,
    specialises=(
        "script-error",
        "callback-raised",
    ),
)
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
