"""Files of the dataset that the probe found damaged, after an error about images or records."""

from __future__ import annotations

from holdfast.explain.evidence import Evidence
from holdfast.explain.finding import Fact
from holdfast.explain.readings.numbers import whole_or_none
from holdfast.journal import events as ev

_FILES_NAMED = 3
IMAGES = r"jpe?g|png|bmp|gif|webp|tiff?"
RECORDS = r"tfrecords?\S*|records?|tfrec"


def damaged_files(evidence: Evidence) -> list[Fact]:
    searches = evidence.all(ev.BadFilesFound)
    files = [(found, file) for found in searches for file in found.event.files[:_FILES_NAMED]]
    return [
        found.fact(
            "file.damaged",
            path=str(file.get("path")),
            what=file.get("what"),
            offset=whole_or_none(file.get("offset")),
        )
        for found, file in files
    ]


def damaged_file(evidence: Evidence) -> str:
    """The first of the newest search, or ""."""
    searches = [found.event.files for found in evidence.all(ev.BadFilesFound) if found.event.files]
    return str(searches[-1][0].get("path")) if searches else ""
