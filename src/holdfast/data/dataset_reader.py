"""What a format hands to the readers: entries that are cheap to list, and a way to parse one of them.

Listing happens once in the main process; parsing happens in any process, one entry at a time, so a
reader holds one annotation file at once whatever the size of the dataset.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

from holdfast.data.files.file_index import ImageFinder, stem_of
from holdfast.data.records import Record


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong at one place: the slug of its finding, the file and what was found there."""

    finding: str
    file: str
    detail: str
    count: int = 1  # how many of the kind it stands for, where a file may hold a million of them
    remedy: str = ""  # what to change, where it depends on the file and not only on the finding
    numbers: tuple[int, ...] = ()  # of classes that are not declared


@dataclass(frozen=True, slots=True)
class SourceEntry:
    """One unit of reading: an annotation file, a record of a shard, or an image that stands alone."""

    key: str  # relative to the source's root: the annotation file, or the image where there is none
    split: str | None = None
    position: int = -1  # of a row group or a record; -1 for a file of its own
    offset: int = 0  # of a shard's record
    length: int = 0
    content: Any = None  # what a file that lists many images says of this one


@dataclass(frozen=True, slots=True)
class ParsedEntry:
    """A record, unless the entry was beyond reading; and whatever was wrong with it."""

    record: Record | None
    problems: tuple[Problem, ...] = ()
    lost: int = 0  # annotations of it that have no box here; with these, no boxes is not "nothing in it"

    @property
    def empty_by_loss(self) -> bool:
        """It is not known that nothing is in the image: what was said about it could not be used."""
        return self.lost > 0 and self.record is not None and not self.record.boxes


class Source(Protocol):
    """One set of annotations in one format."""

    @property
    def format(self) -> str: ...

    @property
    def path(self) -> str:
        """What to call it in messages: the folder or the file that holds the annotations."""
        ...

    @property
    def relative(self) -> bool:
        """Boxes are fractions of the real image, so a wrong declared size does not move them."""
        ...

    @property
    def folder_images(self) -> Sequence[str]:
        """Paths of all images in the folder, to tell which of them no annotation names."""
        ...

    def entries(self) -> Iterator[SourceEntry]: ...

    def parse(self, entry: SourceEntry) -> ParsedEntry: ...

    def for_workers(self) -> Self:
        """What `parse` needs: without the listing that the entries come from, which can be long."""
        ...

    def negatives(self, images: Iterable[str]) -> Iterator[SourceEntry]:
        """Entries for images that no annotation names, where the format means "nothing in it"."""
        ...

    def class_ids(self) -> dict[str, int]:
        """Declared classes and the source's own ids; empty where names only occur in boxes."""
        ...

    def problems(self) -> tuple[Problem, ...]:
        """What is wrong with the source as a whole. Asked after all entries were listed."""
        ...


def ambiguous_image(
    finder: ImageFinder, name: str, found: str | None, near: str, file: str
) -> tuple[Problem, ...]:
    """Says so when the image that was taken for a name is a guess among several."""
    others = finder.alternatives(name, found, near)
    if not others:
        return ()
    said = f"{name!r} fits {found} and {', '.join(others[:3])}; the first was taken"
    return (Problem("ambiguous-picture", file, said),)


def wrong_image(own: str | None, found: str | None, file: str) -> tuple[Problem, ...]:
    """Says so when the image called like an annotation was taken instead of the one that it names."""
    if own is None or found is None:
        return ()
    theirs = stem_of(found) + file[file.rindex(".") :]
    said = f"it names {found}, which {theirs} is for; {own}, called like this file, was taken"
    return (Problem("ambiguous-picture", file, said),)


class ProblemList:
    """Problems of one file, of which only the first few of each kind are kept and the rest counted."""

    def __init__(self, file: str, keep: int = 20) -> None:
        self._file = file
        self._keep = keep
        self._details: dict[str, list[str]] = {}
        self._more: dict[str, int] = {}

    def add(self, finding: str, detail: str) -> None:
        details = self._details.setdefault(finding, [])
        if len(details) < self._keep:
            details.append(detail)
        else:
            self._more[finding] = self._more.get(finding, 0) + 1

    def problems(self) -> tuple[Problem, ...]:
        found = [Problem(slug, self._file, detail) for slug, kept in self._details.items() for detail in kept]
        rest = [Problem(slug, self._file, f"and {more} more", more) for slug, more in self._more.items()]
        return tuple(found + rest)
