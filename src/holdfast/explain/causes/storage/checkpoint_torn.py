"""A checkpoint or model file is cut off."""

from __future__ import annotations

import re

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.readings.error import file_named, is_there
from holdfast.explain.unconverted import Fact, Finding, Remedy, Strength, matched, users_line
from holdfast.journal import events as ev


@cause("checkpoint-torn", Group.STORAGE, specialises=("script-error",))
def checkpoint_torn(evidence: Evidence) -> Finding | None:
    said = matched(
        evidence,
        r"truncated file: eof|Unable to (synchronously )?open (file|object).*(truncated|bad object|file "
        r"signature not found|addr overflow)|"
        r"BadZipFile|File is not a zip file|not an sstable|Bad magic number|File not found: filepath=\S+\.keras|"
        r"bad symbol table|Checksum does not match|Unable to open or read checkpoint",
    )
    if said is None:
        return None
    text = evidence.error_text + said[1].fact
    file = file_named(text.replace("`.keras`", ""), r"keras|h5|weights\.h5|index|ckpt\S*|npz|hdf5")
    frames = " ".join(evidence.error.frames if evidence.error else ())
    loading = re.search(r"load|restore|open|BackupAndRestore", text + frames)
    zipped = "BadZip" in text or "not a zip" in text.lower()
    zip_only = (
        "filepath=" in said[1].fact
    )  # Keras says the same of a file that is not there, and of one that is torn
    there = is_there(evidence, file) if zip_only and file else None
    if there is False or (there is None and zip_only and file and not _was_there(evidence, file)):
        return None
    if zipped and not (
        file or there or re.search(r"keras|load_model|load_weights|restore|checkpoint|saving", frames)
    ):
        return None  # a half downloaded archive of data is no checkpoint
    facts = [said[1], *users_line(evidence)]
    facts += [Fact(f"the file is {file}", said[1].source)] if file and not there else []
    facts += [Fact(f"{file} is there, and is not a whole zip file", said[1].source)] if there else []
    facts += [
        Fact(f"attempt {one.number} ended by {one.ended} before", "journal.jsonl")
        for one in evidence.earlier[-1:]
        if "SIG" in one.ended
    ]
    return Finding(
        "checkpoint-torn",
        Strength.ESTABLISHED if there or "truncated" in text or zipped else Strength.SUPPORTED,
        f"the checkpoint {file or ''} is torn: a process was ended while it wrote".replace("  ", " "),
        tuple(facts),
        () if loading else (Fact("the failing call does not look like loading", said[1].source),),
        (
            Remedy("go back to the checkpoint before it; remove the torn one", "your-choice"),
            Remedy(
                "write so that a kill cannot tear: two files in turn, or write and rename",
                "your-choice",
                'keras.callbacks.BackupAndRestore("backup", double_checkpoint=True)',
            ),
        ),
    )


def _was_there(evidence: Evidence, file: str) -> bool:
    return (
        any(file in (said.event.path or "") for said in evidence.all(ev.SaveDone))
        or bool(evidence.earlier)
        or "not found" not in evidence.error_text.lower()
    )
