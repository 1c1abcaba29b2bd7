"""A dataset as arrays: where each image's bytes are, how they are encoded, and its boxes, upright and clean.

Made once, from the records and the images' headers. A box that cannot be trained on (not finite, no area, an
unknown class, outside the image) is left out, and `left_out` names it: nothing is dropped without a word.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np

from holdfast.data.files import filesystem, process_pool
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

    ids: list[str]
    paths: list[str]
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
        found = pool.map(lambda record: _facts(record.image), dataset.records)
        facts = []
        for number, fact in enumerate(found, 1):
            facts.append(fact)
            if progress is not None and number % 256 == 0:
                progress(number)
    return from_facts(dataset, facts)


def _columns_by_workers(dataset: Dataset) -> Columns:
    """The same on a cluster: each worker reads headers itself, also from a bucket, whose files have a size then."""
    images = (record.image for record in dataset.records)
    found = list(process_pool.run(_header_and_size, None, images, crashed=lambda image: (None, 0), chunk=256))
    return from_facts(dataset, [fact for fact, _ in found], [size for _, size in found])


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
    rows, boxes = [], []
    for row, (record, fact) in enumerate(zip(dataset.records, facts, strict=True)):
        known = _usable(fact)
        if isinstance(known, str):
            unreadable[row] = known
            known = ImageFacts(width=1, height=1, format="JPEG")
        rows.append(_row(record, known, _file_bytes(record.image.path) if sizes is None else sizes[row]))
        clean = [] if row in unreadable else _clean(record, known, class_of, left_out)
        boxes.append(clean)
    flat = [box for of_one in boxes for box in of_one]
    return Columns(
        ids=[record.id for record in dataset.records],
        paths=[record.image.path for record in dataset.records],
        offsets=np.array([row[0] for row in rows], np.int64),
        lengths=np.array([row[1] for row in rows], np.int64),
        file_bytes=np.array([row[2] for row in rows], np.int64),
        stored_sizes=np.array([row[3] for row in rows], np.int32).reshape(-1, 2),
        orientations=np.array([row[4] for row in rows], np.int32),
        codecs=np.array([row[5] for row in rows], np.int32),
        boxes=np.array([box[0] for box in flat], np.float32).reshape(-1, 4),
        labels=np.array([box[1] for box in flat], np.int32),
        crowds=np.array([box[2].crowd for box in flat], bool),
        difficult=np.array([box[2].difficult for box in flat], bool),
        areas=np.array([_area(*box) for box in flat], np.float64),
        first=np.concatenate([[0], np.cumsum([len(of_one) for of_one in boxes])]).astype(np.int64),
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


def _row(
    record: Record, fact: ImageFacts, whole_file: int
) -> tuple[int, int, int, tuple[int, int], int, int]:
    image = record.image
    offset = -1 if image.offset is None else image.offset
    length = whole_file if image.offset is None else int(image.length or 0)
    return offset, length, whole_file, fact.size, fact.orientation, CODECS[fact.format]


def _file_bytes(path: str) -> int:
    """Of a file in a bucket 0: to ask for each would take as long as reading it."""
    return 0 if filesystem.is_url(path) else filesystem.size(path) or 0


def _clean(
    record: Record, fact: ImageFacts, class_of: dict[str, int], left_out: list[SkippedBox]
) -> list[tuple[Corners, int, Box]]:
    kept = []
    # Where nothing tells the frame, the upright one is taken: it is what every current viewer shows.
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
