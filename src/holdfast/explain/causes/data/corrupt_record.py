"""A file with data is damaged or cut off: a TFRecord file, or an archive of arrays."""

import os
import re

from holdfast.explain.cut_off_file import CutOffFile, cut_off_file, data_file_named
from holdfast.explain.readings.error import ErrorText, file_named, user_line
from holdfast.explain.readings.files import IMAGES, RECORDS, damaged_file, damaged_files
from holdfast.explain.readings.limits import mapping_cut_off, space_fact
from holdfast.explain.rule import Evidence, Fact, Finding, Recorded, Remedy, Strength, Title, cause, ev, facts

_AT_OFFSET = re.compile(r"(truncated|corrupted) record at (\d+)")
_CORRUPT = ErrorText(
    rf"{_AT_OFFSET.pattern}|DataLossError|inflate\(\) failed|corrupted block|Could not parse example input"
)
#: TensorFlow uses the same error for a checkpoint.
_CHECKPOINT = re.compile(r"not an sstable|checkpoint")


@cause("corrupt-record", specialises=("script-error", "native-crash"))
def corrupt_record(evidence: Evidence) -> Finding | None:
    cut = mapping_cut_off(evidence)
    if cut is not None:
        return _while_mapped(cut)
    error, quote = evidence.error, _CORRUPT.match(evidence)
    torn = (cut_off_file(evidence) or data_file_named(evidence)) if quote is None else None
    if torn is not None and not file_named(torn.path, IMAGES):
        return _by_its_end(evidence, torn)
    if quote is None or error is None or _CHECKPOINT.search(error.text):
        return None
    at, data = _AT_OFFSET.search(error.text), evidence.dataset()
    offset = int(at[2]) if at else None
    only = data.files[0] if data.file_count == 1 and data.files else ""
    file = file_named(error.text, RECORDS) or damaged_file(evidence) or only
    truncated = at is not None and at[1] == "truncated"
    return Finding(
        Strength.SUPPORTED if quote.says("Could not parse example") else Strength.ESTABLISHED,
        _title(file, truncated, offset),
        facts(
            quote.fact,
            user_line(evidence),
            damaged_files(evidence),
            _where(evidence, file, error.source),
            offset == 0 and Fact("record.damaged-at-start", {}, error.source),
        ),
        (Remedy("record.write-again"), Remedy("record.check", safety="automatic")),
    )


def _title(file: str, truncated: bool, offset: int | None) -> Title:
    """A record has an offset; without one a file that is named otherwise may be compressed text or an archive."""
    if offset is None and file and not file_named(file, RECORDS) and "." in os.path.basename(file):
        return Title("corrupt-record.damaged", {"file": file})
    return Title("corrupt-record", {"file": file, "truncated": truncated, "offset": offset})


def _while_mapped(cut: Recorded[ev.MappedFileSeen]) -> Finding:
    """Somebody shortened or rewrote the file, and the page that was read is not there any more."""
    values = {
        "file": cut.event.path,
        "size_bytes": cut.event.size_bytes,
        "mapped_bytes": cut.event.mapped_bytes,
    }
    return Finding(
        Strength.ESTABLISHED,
        Title("corrupt-record.cut-off-while-mapped", values),
        [space_fact(cut)],
        [Remedy("file.write-and-rename"), Remedy("file.write-again")],
    )


def _by_its_end(evidence: Evidence, torn: CutOffFile) -> Finding | None:
    if torn.sure and torn.of_model:
        return None
    values, again = {"file": torn.path}, Remedy("file.write-again")
    if torn.of_model:
        return Finding(Strength.POSSIBLE, Title("corrupt-record.perhaps", values), torn.facts, [again])
    because = facts(*user_line(evidence), torn.facts)
    if file_named(torn.path, RECORDS):
        title = Title("corrupt-record", {"file": torn.path, "truncated": True, "offset": None})
        return Finding(Strength.established_if(torn.sure), title, because, [Remedy("record.write-again")])
    title = Title("corrupt-record.cut-off" if torn.sure else "corrupt-record.open", values)
    remedies = [again, Remedy("file.write-and-rename")]
    return Finding(Strength.established_if(torn.sure), title, because, remedies)


def _where(evidence: Evidence, file: str, source: str) -> Fact | None:
    data = evidence.data()
    if file:
        return Fact("file.named", {"file": file}, data.source if data is not None else source)
    if data is None or not data.event.files:
        return None
    files = data.event.files
    return data.fact("file.one-of", count=data.event.file_count or len(files), files=files)
