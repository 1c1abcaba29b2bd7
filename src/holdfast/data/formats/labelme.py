"""labelme JSON: one file an image, with polygons, rectangles and circles; the box is what encloses the shape.

An image without a JSON file has nothing in it: labelme saves no file for it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from holdfast.data.dataset_reader import ParsedEntry, Problem, SourceEntry, ambiguous_image, wrong_image
from holdfast.data.files import annotation_json, filesystem, text_encoding
from holdfast.data.files.file_index import FileIndex, ImageFinder, portable, stem_of, without_suffix
from holdfast.data.files.name_index import NameIndex
from holdfast.data.files.packed_list import PackedList
from holdfast.data.files.parse_numbers import parse_flag, parse_number, parse_size
from holdfast.data.files.splits import split_in_path
from holdfast.data.records import Box, ImageRef, Record
from holdfast.errors import HoldfastError

_SPLIT_KEYS = ("train_test_split", "split", "subset", "set")


@dataclass(frozen=True, slots=True)
class LabelmeSource:
    path: str
    listing: FileIndex
    finder: ImageFinder
    files: Sequence[str]
    splits: dict[str, str]
    format: str = "labelme"
    relative: bool = False
    stems: NameIndex = field(default_factory=NameIndex, repr=False)  # of the JSON files

    @property
    def folder_images(self) -> Sequence[str]:
        # A file that was given by name says nothing about the images around it.
        return self.finder.images if self.path == self.listing.root else ()

    def entries(self) -> Iterator[SourceEntry]:
        for name in self.files:
            yield SourceEntry(name, self._split(name))

    def negatives(self, images: Iterable[str]) -> Iterator[SourceEntry]:
        for name in images:
            yield SourceEntry(name, self._split(name))

    def _split(self, name: str) -> str | None:
        return self.splits.get(stem_of(name), split_in_path(name))

    def class_ids(self) -> dict[str, int]:
        return {}

    def problems(self) -> tuple[Problem, ...]:
        return ()

    def for_workers(self) -> LabelmeSource:
        return replace(self, listing=self.listing.without_files(), files=(), splits={})

    def parse(self, entry: SourceEntry) -> ParsedEntry:
        file = self.listing.path(entry.key)
        if self.finder.place(entry.key) is not None:
            name = entry.key.rsplit("/", 1)[-1]
            return ParsedEntry(Record(without_suffix(name), name, ImageRef(file), (), entry.split))
        try:
            document = read_json(file)
        except ValueError as error:
            return ParsedEntry(None, (Problem("unreadable-annotation", file, str(error)),))
        except HoldfastError as error:
            return ParsedEntry(None, (Problem("unreadable-annotation", file, error.what),))
        named = document.get("imagePath")
        name = named if isinstance(named, str) and named else stem_of(entry.key)
        found = self.finder.find(name, near=entry.key, stem=stem_of(entry.key))
        own = self.finder.own(found, entry.key, self.stems)
        path = self.listing.path(own or found) if found else self.finder.expected(name, entry.key)
        declared = parse_size(document.get("imageWidth")), parse_size(document.get("imageHeight"))
        image = ImageRef(path, width=declared[0], height=declared[1])
        boxes, problems = _shapes(document["shapes"], file)
        lost = len(problems)
        problems += wrong_image(own, found, file) or ambiguous_image(
            self.finder, name, found, entry.key, file
        )
        if not found and isinstance(document.get("imageData"), str) and document["imageData"]:
            said = f"{name} is not there, and the image is only inside the JSON (imageData)"
            problems.append(Problem("picture-inside-annotation", file, said))
            image = replace(image, path=file, inside="imageData")
        shown = portable(own or found or name).rsplit("/", 1)[-1]
        record = Record(stem_of(entry.key), shown, image, tuple(boxes), entry.split, file)
        return ParsedEntry(record, tuple(problems), lost)


def read_json(file: str) -> dict[str, Any]:
    """The document; ValueError says why it is not labelme's."""
    data = annotation_json.read_bounded(file)
    if not data.strip():
        raise ValueError("the file is empty")
    return annotation_json.document_of(data, "labelme", "shapes")


def _shapes(shapes: list[Any], file: str) -> tuple[list[Box], list[Problem]]:
    boxes: list[Box] = []
    problems: list[Problem] = []
    for position, shape in enumerate(shapes, 1):
        if isinstance(shape, dict) and shape.get("shape_type") in ("point", "points"):
            said = f"shape {position}: {shape.get('label')!r} is marked by a point, which is no box"
            problems.append(Problem("shape-without-box", file, said))
            continue
        corners = _corners(shape) if isinstance(shape, dict) else "it is not an object"
        label = shape.get("label") if isinstance(shape, dict) else None
        label = str(label) if isinstance(label, int) and not isinstance(label, bool) else label
        if isinstance(corners, str) or not isinstance(label, str) or not label:
            said = corners if isinstance(corners, str) else "it has no label"
            problems.append(Problem("unreadable-annotation", file, f"shape {position}: {said}"))
            continue
        boxes.append(Box(*corners, label, difficult=parse_flag(shape.get("difficult"))))
    return boxes, problems


def _corners(shape: dict[str, Any]) -> tuple[float, float, float, float] | str:
    kind = shape.get("shape_type") or "polygon"
    points = shape.get("points")
    pairs = [_point(point) for point in points] if isinstance(points, list) else []
    known = [pair for pair in pairs if pair is not None]
    if len(known) != len(pairs) or not known:
        return "its points are not pairs of numbers"
    if len(known) < 2 and kind != "circle":
        return f"a {kind} with {len(known)} point has no box"
    if kind == "circle":
        if len(known) != 2:
            return f"a circle has a centre and a point on it, and this one has {len(known)} points"
        (x, y), edge = known
        radius = math.dist((x, y), edge)
        return x - radius, y - radius, x + radius, y + radius
    xs, ys = [x for x, _ in known], [y for _, y in known]
    if any(math.isnan(value) for value in (*xs, *ys)):
        return math.nan, math.nan, math.nan, math.nan
    return min(xs), min(ys), max(xs), max(ys)


def _point(point: Any) -> tuple[float, float] | None:
    if not isinstance(point, list | tuple) or len(point) != 2:
        return None
    x, y = parse_number(point[0]), parse_number(point[1])
    return None if x is None or y is None else (x, y)


def open_source(listing: FileIndex) -> LabelmeSource | None:
    names = listing.with_suffix(".json")
    files = [name for name in names if looks_like_labelme(listing.path(name))]
    if not files:
        return None
    folders = {name.rsplit("/", 1)[0] for name in files if "/" in name}
    others = set(names) - set(files)
    images = listing.images()
    beside = {without_suffix(name) for name in images}
    # A damaged file among labelme's own, or one called like the image beside it, is one of them.
    files += sorted(
        name
        for name in others
        if without_suffix(name) in beside
        or ("/" in name and name.rsplit("/", 1)[0] in folders and not _is_json(listing.path(name)))
    )
    finder = ImageFinder.of(listing.root, images)
    splits = _splits(listing, sorted(others - set(files)))
    stems = NameIndex(map(stem_of, files))
    return LabelmeSource(listing.root, listing, finder, PackedList(sorted(files)), splits, stems=stems)


def _is_json(path: str) -> bool:
    try:
        json.loads(text_encoding.text(filesystem.read_bytes(path, 0, 64 << 20)))
    except (ValueError, HoldfastError, RecursionError):
        return False
    return True


def looks_like_labelme(path: str) -> bool:
    try:
        head = text_encoding.as_utf8(filesystem.read_bytes(path, 0, 1 << 16))
        if b'"shapes"' in head:
            return b'"points"' in head or b'"imagePath"' in head or b'"shape_type"' in head or b"[]" in head
        return b'"imageData"' in head and b'"shapes"' in filesystem.read_bytes(
            path, 0, annotation_json.LARGEST_BYTES
        )
    except HoldfastError:
        return False


def _splits(listing: FileIndex, names: list[str]) -> dict[str, str]:
    """Image's stem to split, from a JSON that lists `{"filename": …, "split": …}` objects."""
    splits: dict[str, str] = {}
    for name in names:
        try:
            document = json.loads(filesystem.read_bytes(listing.path(name), 0, 64 << 20))
        except (ValueError, HoldfastError, RecursionError):
            continue
        rows = document.get("images") if isinstance(document, dict) else document
        for row in rows if isinstance(rows, list) else []:
            image = (row.get("filename") or row.get("file_name")) if isinstance(row, dict) else None
            if isinstance(image, str):
                for split in (row.get(key) for key in _SPLIT_KEYS):
                    if isinstance(split, str) and split:
                        splits[stem_of(image)] = split
    return splits
