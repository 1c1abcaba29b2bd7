"""Files that a dataset names and that are not in its folder, or are no images.

Whole paths and links out of the folder are usual, so they are followed and named. But whoever wrote the annotations
chose the paths: a copy must not take along a private key that one of them calls an image.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from holdfast.data.dataset_reader import Problem, Source
from holdfast.data.files import filesystem
from holdfast.data.files.file_index import FileIndex
from holdfast.data.files.packed_list import PackedWriter
from holdfast.data.image_header import HEAD_BYTES, begins_an_image
from holdfast.data.images.image_file import refusal, unrecognised
from holdfast.data.records import Dataset, ImageRef, Record
from holdfast.errors import HoldfastError

_HERE = "file://"


def folder_of(source: Source) -> str:
    """The folder on this machine that the images of a source are expected in; empty where there is none."""
    listing = getattr(source, "listing", None)
    if not isinstance(listing, FileIndex) or filesystem.is_url(listing.root):
        return ""
    return listing.root or "."


def problem_of(image: ImageRef, folder: str) -> Problem | None:
    """A note where the file of an image is outside `folder`, by its path or by a link."""
    if not folder or image.in_shard or image.inside or filesystem.is_url(image.path) or "\0" in image.path:
        return None
    place = _real(image.path)
    if place.is_relative_to(_real_folder(folder)):
        return None
    named = str(place) == os.path.abspath(image.path)
    return Problem("outside-dataset", image.path, "named by this path" if named else f"a link to {place}")


def outside(dataset: Dataset) -> Iterator[Problem]:
    found = (problem_of(record.image, dataset.folder) for record in dataset.records)
    return (problem for problem in found if problem is not None)


def without_other_files(records: Iterable[Record]) -> tuple[Sequence[Record], list[Problem]]:
    """The records whose images may be copied, and what the others name. A file that is not there is kept."""
    kept = PackedWriter[Record]()
    problems: list[Problem] = []
    for record in records:
        problem = _no_image(record.image)
        if problem is None:
            kept.add(record)
        else:
            problems.append(problem)
    return kept.finished(), problems


def _no_image(image: ImageRef) -> Problem | None:
    """Only a whole file of this machine can be another than the dataset's: a slice of a shard is the shard's own."""
    path = image.path.removeprefix(_HERE)
    if image.in_shard or image.inside or filesystem.is_url(path):
        return None
    facts = refusal(ImageRef(path))
    if facts is not None:
        return None if facts.problem == "missing-image" else _not_copied(image, facts.detail)
    try:
        head = filesystem.read_bytes(path, 0, HEAD_BYTES)
    except HoldfastError as error:
        return _not_copied(image, error.what)
    if begins_an_image(head):
        return None
    return _not_copied(image, unrecognised(head if head.strip(b"\0") else filesystem.read_bytes(path)))


def _not_copied(image: ImageRef, why: str) -> Problem:
    return Problem("unreadable-image", image.path, f"{why}: it is not copied")


def _real(path: str) -> Path:
    """Links resolved; the folder's once for all of its files."""
    if os.path.islink(path):
        return Path(os.path.realpath(path))
    return _real_folder(os.path.dirname(path) or ".") / os.path.basename(path)


@functools.lru_cache(maxsize=4096)
def _real_folder(path: str) -> Path:
    return Path(os.path.realpath(path))
