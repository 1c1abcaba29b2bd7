"""A dataset as arrays: where each image's bytes are, how they are encoded, and its boxes, upright and clean.

Made once, from the records and the images' headers. A box that cannot be trained on (not finite, no area, an
unknown class, outside the image) is left out, and `left_out` names it: nothing is dropped without a word.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np

from holdfast.data.files import filesystem, process_pool
from holdfast.data.files.packed_list import PackedList, PackedWriter
from holdfast.data.images import base64_images
from holdfast.data.images.exif import boxes_frame, turned_upright
from holdfast.data.images.image_file import ImageFacts, header, probe_image, unsupported_kind
from holdfast.data.records import Box, Dataset, ImageRef, Record
from holdfast.data.workers import worker_choice

Corners = tuple[float, float, float, float]

JPEG, PNG, OTHER = 0, 1, 2
CODECS = {"JPEG": JPEG, "PNG": PNG, "BMP": OTHER, "GIF": OTHER, "WEBP": OTHER}


@dataclass(frozen=True, slots=True)
class SkippedBox:
    """A box that is not trained on, and why."""

    record: str
    file: str
    detail: str


@dataclass(frozen=True)
class Columns:
    """One row an image. `first[i]:first[i + 1]` are its boxes, in pixels of the upright image."""

    ids: Sequence[str]
    paths: Sequence[str]
    offsets: np.ndarray  # -1: the whole file is the image
    lengths: np.ndarray  # bytes of the encoded image
    file_bytes: np.ndarray
    stored_sizes: np.ndarray  # (n, 2) width, height before the orientation is applied
    orientations: np.ndarray  # EXIF, 1 to 8
    codecs: np.ndarray
    boxes: np.ndarray  # (k, 4)
    labels: np.ndarray  # (k,) position in `classes`
    crowds: np.ndarray  # (k,) bool
    difficult: np.ndarray  # (k,) bool: trained on, and neither found nor missed when it comes to a score
    areas: np.ndarray  # (k,) of the outline where the source says it, else of the box
    first: np.ndarray  # (n + 1,)
    classes: tuple[str, ...]
    unreadable: dict[int, str] = field(default_factory=dict)  # row -> why its header cannot be read
    left_out: tuple[SkippedBox, ...] = ()

    def __len__(self) -> int:
        return len(self.paths)

    @property
    def sizes(self) -> np.ndarray:
        """Upright width and height."""
        return np.where(self.orientations[:, None] >= 5, self.stored_sizes[:, ::-1], self.stored_sizes)

    @property
    def fullest(self) -> int:
        """The most boxes in one image."""
        return int(np.diff(self.first).max(initial=0))

    def name(self, row: int) -> str:
        """What to call an image in a message."""
        at = int(self.offsets[row])
        return self.paths[row] if at < 0 else f"{self.paths[row]} at byte {at} ({self.ids[row]})"


def is_remote(columns: Columns) -> bool:
    return any(filesystem.is_url(path) for path in columns.paths[:1])


def columns_of(
    dataset: Dataset, *, threads: int = 8, progress: Callable[[int], None] | None = None
) -> Columns:
    """Reads every image's header (not its pixels): the real size, the format and the orientation."""
    from PIL import Image

    dataset = base64_images.as_files(dataset)
    if worker_choice.current().on_ray:
        return _columns_by_workers(dataset)
    Image.init()  # all formats, before the threads start: Pillow loads them on first use, and not thread-safely
    with ThreadPoolExecutor(threads) as pool:
        facts = PackedWriter[ImageFacts | None]()
        remaining = (record.image for record in dataset.records)
        while part := list(islice(remaining, 256)):
            facts.extend(pool.map(_facts, part))
            if progress is not None and len(part) == 256:
                progress(len(facts))
    return from_facts(dataset, facts.finished())


def _columns_by_workers(dataset: Dataset) -> Columns:
    """The same on a cluster: each worker reads headers itself, also from a bucket, whose files have a size then."""
    images = (record.image for record in dataset.records)
    found = process_pool.run(_header_and_size, None, images, crashed=lambda image: (None, 0), chunk=256)
    facts, sizes = PackedWriter[ImageFacts | None](), array("q")
    for fact, size in found:
        facts.add(fact)
        sizes.append(size)
    return from_facts(dataset, facts.finished(), sizes)


def _header_and_size(shared: None, image: ImageRef) -> tuple[ImageFacts | None, int]:
    """In a worker."""
    return _facts(image), filesystem.size(image.path) or 0


def _facts(image: ImageRef) -> ImageFacts:
    """Of the header; where that gives none, why: the file is missing, refused to this user, or no image."""
    return header(image) or probe_image(image)


def from_facts(
    dataset: Dataset, facts: Sequence[ImageFacts | None], sizes: Sequence[int] | None = None
) -> Columns:
    """The same from facts that are known already, as those of the check's cache; `sizes` are those of the files."""
    class_of = dataset.index()
    unreadable: dict[int, str] = {}
    left_out: list[SkippedBox] = []
    rows, boxes = _Rows(), _Boxes()
    for row, (record, fact) in enumerate(zip(dataset.records, facts, strict=True)):
        known = _usable(fact)
        if isinstance(known, str):
            unreadable[row] = known
            known = ImageFacts(width=1, height=1, format="JPEG")
        rows.add(record.image, known, _file_bytes(record.image.path) if sizes is None else sizes[row])
        boxes.add_image([] if row in unreadable else _clean(record, known, class_of, left_out))
    listed = PackedList if isinstance(dataset.records, PackedList) else list
    return Columns(
        ids=listed(record.id for record in dataset.records),
        paths=listed(record.image.path for record in dataset.records),
        **rows.columns(),
        **boxes.columns(),
        classes=dataset.classes,
        unreadable=unreadable,
        left_out=tuple(left_out),
    )


def _usable(fact: ImageFacts | None) -> ImageFacts | str:
    if fact is None:
        return "reading it ended the process that read it"
    if fact.problem:
        return f"{fact.problem}: {fact.detail}"
    odd = unsupported_kind(fact)
    if odd:
        return f"{odd} images are not decoded while training; `holdfast data repair` writes them as PNG"
    return fact


class _Rows:
    """Collects the columns of the images."""

    def __init__(self) -> None:
        self._places, self._kinds = array("q"), array("i")  # three of either, and four

    def add(self, image: ImageRef, fact: ImageFacts, whole_file: int) -> None:
        offset = -1 if image.offset is None else image.offset
        length = whole_file if image.offset is None else int(image.length or 0)
        self._places.extend((offset, length, whole_file))
        self._kinds.extend((*fact.size, fact.orientation, CODECS[fact.format]))

    def columns(self) -> dict[str, Any]:
        places = np.array(self._places, np.int64).reshape(-1, 3)
        kinds = np.array(self._kinds, np.int32).reshape(-1, 4)
        return {
            "offsets": places[:, 0].copy(), "lengths": places[:, 1].copy(), "file_bytes": places[:, 2].copy(),
            "stored_sizes": kinds[:, :2].copy(), "orientations": kinds[:, 2].copy(), "codecs": kinds[:, 3].copy(),
        }  # fmt: skip


class _Boxes:
    """Collects the columns of the boxes."""

    def __init__(self) -> None:
        self._corners, self._areas, self._first = array("f"), array("d"), array("q", [0])
        self._labels, self._flags = array("i"), array("b")

    def add_image(self, boxes: list[tuple[Corners, int, Box]]) -> None:
        for corners, label, box in boxes:
            self._corners.extend(corners)
            self._labels.append(label)
            self._flags.extend((box.crowd, box.difficult))
            self._areas.append(_area(corners, label, box))
        self._first.append(len(self._labels))

    def columns(self) -> dict[str, Any]:
        flags = np.array(self._flags, bool).reshape(-1, 2)
        return {
            "boxes": np.array(self._corners, np.float32).reshape(-1, 4),
            "labels": np.array(self._labels, np.int32),
            "crowds": flags[:, 0].copy(), "difficult": flags[:, 1].copy(),
            "areas": np.array(self._areas, np.float64), "first": np.array(self._first, np.int64),
        }  # fmt: skip


def _file_bytes(path: str) -> int:
    """Of a file in a bucket 0: to ask for each would take as long as reading it."""
    return 0 if filesystem.is_url(path) else filesystem.size(path) or 0


def _clean(
    record: Record, fact: ImageFacts, class_of: dict[str, int], left_out: list[SkippedBox]
) -> list[tuple[Corners, int, Box]]:
    kept = []
    # Where nothing says which frame it is, the upright one is taken: it is what every current viewer shows.
    declared = record.image.declared_size
    frame = boxes_frame(fact.size, fact.orientation, declared, record.boxes, record.frame)
    stored = frame.name == "stored"
    width, height = fact.upright_size
    for box in record.boxes:
        corners = turned_upright(box, fact.size, fact.orientation).corners if stored else box.corners
        why = _reason_to_skip(box, corners, class_of, width, height)
        if why:
            left_out.append(SkippedBox(record.id, record.file_name, f"{box.name} {box.corners}: {why}"))
            continue
        x1, y1, x2, y2 = corners
        clipped = (max(x1, 0.0), max(y1, 0.0), min(x2, float(width)), min(y2, float(height)))
        kept.append((clipped, class_of[box.name], box))
    return kept


def _area(corners: Corners, label: int, box: Box) -> float:
    x1, y1, x2, y2 = corners
    return (x2 - x1) * (y2 - y1) if box.area is None else box.area


def _reason_to_skip(box: Box, corners: Corners, class_of: dict[str, int], width: int, height: int) -> str:
    x1, y1, x2, y2 = corners
    if not all(math.isfinite(value) for value in corners):
        return "not finite"
    if x2 <= x1 or y2 <= y1:
        return "no area, or inverted"
    if x2 <= 0 or y2 <= 0 or x1 >= width or y1 >= height:
        return f"outside the image of {width}x{height}"
    if box.name not in class_of:
        return f"class {box.name!r} is not in the list of classes"
    return ""
