"""Supervisely's project: meta.json with the classes, and `<dataset>/ann/<image>.json` beside `<dataset>/img/<image>`.

Corners are pixels, both inclusive. The box of a bitmap is its origin and the size of the PNG inside.
"""

from __future__ import annotations

import base64
import binascii
import json
import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from holdfast.data.dataset_reader import ParsedEntry, Problem, ProblemList, SourceEntry, ambiguous_image
from holdfast.data.files import annotation_json, filesystem, text_encoding
from holdfast.data.files.file_index import FileIndex, ImageFinder, display_name, folder_of, is_image, stem_of
from holdfast.data.files.packed_list import PackedList
from holdfast.data.files.parse_numbers import parse_number, parse_size
from holdfast.data.files.splits import split_in_path
from holdfast.data.formats.listed import ShapeList, head_of
from holdfast.data.formats.outlines import Corners, around
from holdfast.data.records import Box, ImageRef, Record
from holdfast.errors import HoldfastError

_PNG_HEAD = 24  # bytes up to the width and height
_WITHOUT_BOX = ("point", "graph", "point_3d", "cuboid_3d")


@dataclass(frozen=True, slots=True)
class SuperviselySource:
    path: str
    listing: FileIndex
    finder: ImageFinder
    files: Sequence[str]
    ids: dict[str, int] = field(default_factory=dict)
    noted: tuple[Problem, ...] = ()
    format: str = "supervisely"
    relative: bool = False

    @property
    def folder_images(self) -> Sequence[str]:
        return self.finder.images

    def entries(self) -> Iterator[SourceEntry]:
        for name in self.files:
            yield SourceEntry(name, split_in_path(name))

    def negatives(self, images: Iterable[str]) -> Iterator[SourceEntry]:
        return iter(())  # a negative has a file without objects

    def class_ids(self) -> dict[str, int]:
        return self.ids

    def problems(self) -> tuple[Problem, ...]:
        return self.noted

    def for_workers(self) -> SuperviselySource:
        return replace(self, listing=self.listing.without_files(), files=(), noted=())

    def parse(self, entry: SourceEntry) -> ParsedEntry:
        file = self.listing.path(entry.key)
        try:
            document = read_document(file)
        except ValueError as error:
            return ParsedEntry(None, (Problem("unreadable-annotation", file, str(error)),))
        except HoldfastError as error:
            return ParsedEntry(None, (Problem("unreadable-annotation", file, error.what),))
        name = stem_of(entry.key)
        folder = folder_of(folder_of(entry.key))
        beside = f"{folder}/img/{name}" if folder else f"img/{name}"
        found = self.finder.find(beside, near=entry.key) or self.finder.find(
            name, near=entry.key, stem=stem_of(name) if is_image(name) else name
        )
        path = self.listing.path(found) if found else self.finder.expected(beside, entry.key)
        declared = document.get("size")
        size: dict[str, Any] = declared if isinstance(declared, dict) else {}
        image = ImageRef(path, width=parse_size(size.get("width")), height=parse_size(size.get("height")))
        problems = ProblemList(file)
        shapes = ShapeList(name, problems)
        for one in document["objects"]:
            _add(one, shapes)
        unsure = ambiguous_image(self.finder, beside, found, entry.key, file)
        shown = display_name(name, found.rsplit("/", 1)[-1] if found else None)
        record = Record(stem_of(name) or name, shown, image, tuple(shapes.boxes), entry.split, file)
        return ParsedEntry(record, (*unsure, *problems.problems()), shapes.lost)


def read_document(file: str) -> dict[str, Any]:
    """The annotation of one image; ValueError says why it is none."""
    return annotation_json.document_of(annotation_json.read_bounded(file), "Supervisely", "objects")


def _add(one: Any, shapes: ShapeList) -> None:
    if not isinstance(one, dict):
        shapes.lose(f"{str(one)[:60]!r} where an object was expected")
        return
    kind, label = one.get("geometryType"), one.get("classTitle")
    if kind in _WITHOUT_BOX:
        shapes.no_box(f"{label!r} is a {kind}, which is no box")
        return
    corners = _bitmap(one["bitmap"]) if isinstance(one.get("bitmap"), dict) else _outline(one.get("points"))
    if corners is None:
        shapes.lose(f"{label!r} of type {kind!r} has no box")
    elif not isinstance(label, str) or not label:
        shapes.lose("an object without classTitle")
    else:
        shapes.add(Box(*corners, label))


def _outline(points: Any) -> Corners | None:
    listed = points.get("exterior") if isinstance(points, dict) else None
    pairs = [
        (parse_number(pair[0]), parse_number(pair[1]))
        for pair in (listed if isinstance(listed, list) else [])
        if isinstance(pair, list) and len(pair) == 2
    ]
    known = [(x, y) for x, y in pairs if x is not None and y is not None]
    found = around(known) if known and len(known) == len(pairs) else None
    if found is None or any(value % 1 for value in found):
        return found  # newer projects may have parts of pixels, and then edges and no pixels
    return found[0], found[1], found[2] + 1, found[3] + 1


def _bitmap(bitmap: dict[str, Any]) -> Corners | None:
    """The origin and the size that the PNG inside declares."""
    origin, data = bitmap.get("origin"), bitmap.get("data")
    if not isinstance(data, str) or not isinstance(origin, list) or len(origin) != 2:
        return None
    x, y = (parse_number(value) for value in origin)
    try:
        head = zlib.decompressobj().decompress(base64.b64decode(data), _PNG_HEAD)
        width, height = struct.unpack(">II", head[16:24])
    except (binascii.Error, ValueError, zlib.error, struct.error):
        return None
    if x is None or y is None or not head.startswith(b"\x89PNG") or not width or not height:
        return None
    return x, y, x + width, y + height


def open_source(listing: FileIndex) -> SuperviselySource | None:
    names = listing.with_suffix(".json")
    folders = {folder_of(name) for name in names if looks_like_supervisely(listing.path(name))}
    files = [name for name in names if folder_of(name) in folders and not name.endswith("meta.json")]
    if not files:
        return None
    ids, noted = _classes(listing)
    # The annotations of other images of the project may be empty, and then nothing in them says whose they are.
    others = {folder_of(name) for name in names if folder_of(name).rsplit("/", 1)[-1] == "ann"}
    files += [name for name in names if folder_of(name) in others - folders]
    finder = ImageFinder.of(listing.root, listing.images())
    return SuperviselySource(listing.root, listing, finder, PackedList(sorted(files)), ids, noted)


def looks_like_supervisely(path: str) -> bool:
    head = head_of(path)
    return b'"objects"' in head and b'"classTitle"' in head


def _classes(listing: FileIndex) -> tuple[dict[str, int], tuple[Problem, ...]]:
    """The classes of meta.json by their places in it, since its ids are a database's; what is wrong with it."""
    name = next((name for name in listing.with_suffix(".json") if name.rsplit("/", 1)[-1] == "meta.json"), "")
    if not name:
        return {}, ()
    try:
        document = json.loads(text_encoding.text(filesystem.read_bytes(listing.path(name), 0, 64 << 20)))
    except (ValueError, HoldfastError, RecursionError):
        return {}, (Problem("unreadable-annotation", listing.path(name), "the list of classes is not JSON"),)
    listed = document.get("classes") if isinstance(document, dict) else None
    ids: dict[str, int] = {}
    for number, one in enumerate(listed if isinstance(listed, list) else []):
        title = one.get("title") if isinstance(one, dict) else None
        if isinstance(title, str) and title:
            ids.setdefault(title, number)
    return ids, ()
