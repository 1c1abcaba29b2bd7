"""Names and numbers for what is written: unique, portable, and the source's own wherever they can be."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat

from holdfast.data.files.file_index import is_image, portable, suffix_of, without_suffix
from holdfast.data.files.name_index import NameSet, repeated_digests
from holdfast.data.files.packed_list import PackedList
from holdfast.data.images.image_file import header
from holdfast.data.images.image_rules import right_suffix, wrong_suffix
from holdfast.data.records import Dataset, Record

_ODD = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")  # the last are bytes of a name that is not UTF-8


def image_names(records: Sequence[Record], *, formats: Sequence[str] = ()) -> Sequence[str]:
    """A file name for every record's image; no two share a name without its extension.

    VOC and YOLO find an image's annotation by that, and some file systems ignore case. With the `formats` of the
    images an extension that is wrong is put right.
    """
    return PackedList(_image_names(records, formats))


def _image_names(records: Sequence[Record], formats: Sequence[str]) -> Iterator[str]:
    taken = NameSet()
    folders: set[str] = set()
    for record, format in zip(records, formats or repeat("", len(records)), strict=True):
        name = _ODD.sub("_", portable(record.file_name)) or _ODD.sub("_", portable(record.id)) or "image"
        name = _suffixed(record, name, format)
        stem, suffix = without_suffix(name), suffix_of(name) and name[len(without_suffix(name)) :]
        parents = _parents(stem)
        if any(parent.casefold() in taken for parent in parents) or stem.casefold() in folders:
            stem = stem.replace("/", "_") + "_"
        unique, number = stem, 2
        while unique.casefold() in taken or unique.casefold() in folders:
            unique, number = f"{stem}-{number}", number + 1
        taken.add(unique.casefold())
        folders.update(parent.casefold() for parent in _parents(unique))
        yield unique + suffix


def _parents(stem: str) -> list[str]:
    parts = stem.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts))]


def _suffixed(record: Record, name: str, format: str) -> str:
    """The name with an extension, and with the right one where the format is given."""
    if not is_image(name):
        facts = None if format else header(record.image)
        return name + right_suffix(facts.format if facts else format)
    if format and wrong_suffix(format, suffix_of(name)):
        return without_suffix(name) + right_suffix(format)
    return name


def class_numbers(dataset: Dataset, *, first: int) -> dict[str, int]:
    """The source's ids when every class has one and none is below `first`; otherwise counted from `first`."""
    ids = dict(zip(dataset.classes, dataset.class_ids, strict=False))
    known = [number for number in ids.values() if number is not None and number >= first]
    if len(known) == len(dataset.classes) and len(set(known)) == len(known):
        return {name: number for name, number in ids.items() if number is not None}
    return {name: number for number, name in enumerate(dataset.classes, first)}


def image_numbers(ids: Iterable[str]) -> Sequence[int]:
    """The records' ids as numbers when all are numbers, otherwise counted from 1."""
    numbers, count = array("q"), 0
    for text in ids:
        if len(numbers) == count and re.fullmatch(r"0|[1-9]\d{0,17}", text):
            numbers.append(int(text))
        count += 1
    return range(1, count + 1) if len(numbers) < count or repeated_digests(numbers) else numbers
