"""A source whose few files list all of its images: CVAT, Label Studio, VIA, Datumaro, Parquet.

A format reads its files into `ListedImage`s; what all of them share is here: splits, finding the images, fractions.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from holdfast.data.dataset_reader import ParsedEntry, Problem, ProblemList, SourceEntry, ambiguous_image
from holdfast.data.files import filesystem, json_stream, text_encoding
from holdfast.data.files.file_index import FileIndex, ImageFinder, display_name, portable, without_suffix
from holdfast.data.files.packed_list import PackedList
from holdfast.data.files.parse_numbers import snap
from holdfast.data.files.splits import split_in_name, split_in_path
from holdfast.data.formats.label_map import disagreeing_lists
from holdfast.data.images.image_file import upright_size
from holdfast.data.records import Box, ImageRef, Record
from holdfast.errors import HoldfastError, UnreadableAnnotation

LARGEST_FILE_BYTES = 2 << 30
HEAD_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class ListedImage:
    """One image as a file lists it. `names` are what it may be called, the likeliest first."""

    names: tuple[str, ...]
    boxes: tuple[Box, ...] = ()
    width: int | None = None
    height: int | None = None
    split: str | None = None
    fractions: bool = False  # boxes are fractions of the image as it is shown
    lost: int = 0  # shapes that have no box here
    id: str = ""
    inside: ImageRef | None = None  # where the file holds the image itself


@dataclass(frozen=True, slots=True)
class ListedFile:
    name: str  # relative to the listing's root
    images: Sequence[ListedImage]
    problems: tuple[Problem, ...] = ()
    ids: dict[str, int] = field(default_factory=dict)  # classes that are declared with an id


@dataclass(frozen=True, slots=True)
class ListedSource:
    path: str
    format: str
    listing: FileIndex
    finder: ImageFinder
    files: tuple[ListedFile, ...]
    noted: tuple[Problem, ...] = ()

    @property
    def relative(self) -> bool:
        return any(image.fractions for file in self.files for image in file.images[:1])

    @property
    def folder_images(self) -> Sequence[str]:
        # A file that was given by name says nothing about the images around it.
        return self.finder.images if self.path == self.listing.root else ()

    def entries(self) -> Iterator[SourceEntry]:
        for number_of, file in enumerate(self.files):
            own = split_in_name(file.name) or split_in_path(file.name)
            for position, image in enumerate(file.images):
                yield SourceEntry(file.name, image.split or own, position, number_of, content=image)

    def negatives(self, images: Iterable[str]) -> Iterator[SourceEntry]:
        return iter(())

    def class_ids(self) -> dict[str, int]:
        return {name: number for file in self.files for name, number in file.ids.items()}

    def problems(self) -> tuple[Problem, ...]:
        return self.noted + tuple(problem for file in self.files for problem in file.problems)

    def for_workers(self) -> ListedSource:
        files = tuple(replace(file, images=tuple(file.images[:1]), problems=()) for file in self.files)
        return replace(self, listing=self.listing.without_files(), files=files, noted=())

    def parse(self, entry: SourceEntry) -> ParsedEntry:
        image = entry.content
        source = self.listing.path(entry.key)
        found = next(filter(None, (self.finder.find(name, near=entry.key) for name in image.names)), None)
        name = image.names[0]
        path = self.listing.path(found) if found else self.finder.expected(name, entry.key)
        place = image.inside or ImageRef(path, width=image.width, height=image.height)
        boxes = image.boxes
        if image.fractions and boxes:
            size = upright_size(place) or (image.width, image.height)
            if not size[0] or not size[1]:
                said = f"{name}: the boxes are fractions, and the image that they are of is not there"
                return ParsedEntry(None, (Problem("missing-image", path, said),))
            boxes = tuple(_in_pixels(box, size[0], size[1]) for box in boxes)
        unsure = () if image.inside else ambiguous_image(self.finder, name, found, entry.key, source)
        shown = portable(display_name(name, found) if found or image.inside else name)
        record = Record(
            image.id or without_suffix(shown) or name, shown, place, boxes, entry.split, source,
            "upright" if image.fractions else "",
        )  # fmt: skip
        return ParsedEntry(record, unsure, image.lost)


def _in_pixels(box: Box, width: float, height: float) -> Box:
    x1, x2 = (snap(value * width, width * 1e-6) for value in (box.x1, box.x2))
    y1, y2 = (snap(value * height, height * 1e-6) for value in (box.y1, box.y2))
    return replace(box, x1=x1, y1=y1, x2=x2, y2=y2)


def open_listed(
    format: str,
    listing: FileIndex,
    names: Sequence[str],
    read: Callable[[FileIndex, str], ListedFile],
    path: str | None = None,
) -> ListedSource | None:
    """The files that `read` can read; an error where it can read none of them, None where there are none."""
    files: list[ListedFile] = []
    broken: list[UnreadableAnnotation] = []
    for name in names:
        try:
            file = read(listing, name)
            files.append(replace(file, images=PackedList(file.images)))
        except UnreadableAnnotation as error:
            broken.append(error)
    if broken and not files:
        raise broken[0]
    if not files:
        return None
    finder = ImageFinder.of(listing.root, listing.images())
    finder = finder.knowing((image.names[0], file.name) for file in files for image in file.images)
    noted = tuple(Problem("unreadable-annotation", error.where, error.what) for error in broken)
    lists = [
        (listing.path(file.name), {number: label for label, number in file.ids.items()}) for file in files
    ]
    noted += tuple(disagreeing_lists(lists))
    return ListedSource(path or listing.root, format, listing, finder, tuple(files), noted)


@dataclass(frozen=True)
class ListedFormat:
    """A format of files that list images: what they look like, and what reads one."""

    name: str
    suffix: str
    looks_like: Callable[[str], bool]
    read: Callable[[FileIndex, str], ListedFile]

    def open_folder(self, listing: FileIndex) -> ListedSource | None:
        names = [name for name in listing.with_suffix(self.suffix) if self.looks_like(listing.path(name))]
        return open_listed(self.name, listing, names, self.read)

    def open_source(self, listing: FileIndex, name: str, path: str) -> ListedSource | None:
        """Of one file."""
        return open_listed(self.name, listing, [name], self.read, path)


def read_json(path: str) -> Any:
    """A JSON document; UnreadableAnnotation says why it is none."""
    text = text_encoding.text(filesystem.read_bytes(path, 0, LARGEST_FILE_BYTES))
    try:
        return json.loads(text)
    except RecursionError:
        raise UnreadableAnnotation("the JSON is nested too deeply", where=path) from None
    except ValueError as error:
        raise UnreadableAnnotation(
            f"this is not JSON: {json_stream.without_advice(str(error))}",
            where=path,
            change=json_stream.remedy(json_stream.ends_early(error, len(text.rstrip()))),
        ) from None


def head_of(path: str) -> bytes:
    try:
        return text_encoding.as_utf8(filesystem.read_bytes(path, 0, HEAD_BYTES))
    except HoldfastError:
        return b""


class ShapeList:
    """Collects the boxes of one image, and what was wrong with its other shapes."""

    def __init__(self, image: str, problems: ProblemList) -> None:
        self._image, self._problems = image, problems
        self.boxes: list[Box] = []
        self.lost = 0

    def add(self, box: Box) -> None:
        self.boxes.append(box)

    def lose(self, said: str, slug: str = "unreadable-annotation") -> None:
        self.lost += 1
        self._problems.add(slug, f"{self._image}: {said}")

    def no_box(self, said: str) -> None:
        """A point, a line, a class alone."""
        self.lose(said, "shape-without-box")
