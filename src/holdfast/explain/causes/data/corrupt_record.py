"""A record file is damaged or cut off."""

from __future__ import annotations

import re

from holdfast.explain.readings.error import ErrorText, Raised, file_named, user_line
from holdfast.explain.readings.files import RECORDS, damaged_file, damaged_files
from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, Strength, Title, cause

_AT_OFFSET = re.compile(r"(truncated|corrupted) record at (\d+)")
_CORRUPT = ErrorText(
    rf"{_AT_OFFSET.pattern}|DataLossError|inflate\(\) failed|corrupted block|Could not parse example input"
)
#: TensorFlow uses the same error for a checkpoint.
_CHECKPOINT = re.compile(r"not an sstable|checkpoint")


@cause("corrupt-record", specialises=("script-error",))
def corrupt_record(evidence: Evidence) -> Finding | None:
    error, quote = evidence.error, _CORRUPT.match(evidence)
    if quote is None or error is None or _CHECKPOINT.search(error.text):
        return None
    at = _AT_OFFSET.search(error.text)
    offset = int(at[2]) if at else None
    file = _file(evidence, error)
    facts = [quote.fact, *user_line(evidence), *damaged_files(evidence), *_named(evidence, error, file)]
    if offset == 0:
        facts.append(Fact("record.damaged-at-start", {}, error.source))
    truncated = at is not None and at[1] == "truncated"
    return Finding(
        Strength.SUPPORTED if quote.says("Could not parse example") else Strength.ESTABLISHED,
        Title("corrupt-record", {"file": file, "truncated": truncated, "offset": offset}),
        because=facts,
        remedies=[Remedy("record.write-again"), Remedy("record.check", safety="automatic")],
    )


def _file(evidence: Evidence, error: Raised) -> str:
    data = evidence.data()
    named = file_named(error.text, RECORDS) or damaged_file(evidence)
    only = data.event.files[0] if data is not None and data.event.file_count == 1 and data.event.files else ""
    return named or only


def _named(evidence: Evidence, error: Raised, file: str) -> list[Fact]:
    data = evidence.data()
    if file:
        return [Fact("file.named", {"file": file}, data.source if data is not None else error.source)]
    if data is None or not data.event.files:
        return []
    values = {"count": data.event.file_count or len(data.event.files), "files": data.event.files}
    return [Fact("file.one-of", values, data.source)]
