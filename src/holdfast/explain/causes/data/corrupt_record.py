"""A record file is damaged or cut off."""

from __future__ import annotations

import re

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.readings.error import file_named
from holdfast.explain.unconverted import Fact, Finding, Remedy, Strength, matched, users_line
from holdfast.explain.words import listed
from holdfast.journal import events as ev


@cause("corrupt-record", Group.DATA, specialises=("script-error",))
def corrupt_record(evidence: Evidence) -> Finding | None:
    said = matched(
        evidence,
        r"(truncated|corrupted) record at (\d+)|DataLossError|inflate\(\) failed|corrupted block|Could not "
        r"parse example input",
    )
    if said is None or evidence.error is None or re.search(r"not an sstable|checkpoint", evidence.error_text):
        return None
    text = evidence.error_text
    at = re.search(r"(truncated|corrupted) record at (\d+)", text)
    data = evidence.data()
    file = file_named(text, r"tfrecords?\S*|records?|tfrec") or _bad_file(evidence)
    if not file and data is not None and data.event.file_count == 1 and data.event.files:
        file = data.event.files[0]
    parse = "Could not parse example" in said[1].fact
    facts = [said[1], *users_line(evidence)]
    for found in evidence.all(ev.BadFilesFound):
        for bad in found.event.files[:3]:
            offset = f" at offset {bad['offset']:,}" if isinstance(bad.get("offset"), int) else ""
            facts.append(Fact(f"{bad.get('path')}: {bad.get('what')}{offset}", found.source))
    if file:
        facts.append(Fact(f"the file is {file}", data.source if data is not None else evidence.error.source))
    elif data is not None and data.event.files:
        facts.append(
            Fact(
                f"one of {data.event.file_count or len(data.event.files)} files: {listed(data.event.files, 3)}; "
                "TensorFlow does not say which",
                data.source,
            )
        )
    if at and at[2] == "0":
        facts.append(
            Fact(
                "damage at offset 0 means that the file is of another kind, or compressed",
                evidence.error.source,
            )
        )
    where = f" at offset {int(at[2]):,}" if at else ""
    word = {"truncated": "is cut off", "corrupted": "is damaged"}.get(at[1] if at else "", "is damaged")
    return Finding(
        "corrupt-record",
        Strength.SUPPORTED if parse else Strength.ESTABLISHED,
        f"the record file {file or '(not named by TensorFlow)'} {word}{where}",
        tuple(facts),
        (),
        (
            Remedy(
                "write or copy the file again, and close the writer: use it in a `with` block",
                "your-choice",
                "with tf.io.TFRecordWriter(path) as writer:\n    writer.write(example)",
            ),
            Remedy("`holdfast check DATA` reads every record and names file and offset", "automatic"),
        ),
    )


def _bad_file(evidence: Evidence) -> str:
    for found in reversed(evidence.all(ev.BadFilesFound)):
        for bad in found.event.files[:1]:
            return str(bad.get("path"))
    return ""
