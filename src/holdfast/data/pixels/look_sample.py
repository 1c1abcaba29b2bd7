"""A bounded sample of images, decoded small, with their boxes beside them: what the rules about pixels look at."""

from __future__ import annotations

import hashlib
import heapq
import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from holdfast.data.files import process_pool
from holdfast.data.images.image_file import ImageFacts, as_rgb, open_image
from holdfast.data.images.image_rules import frame_of, frame_size
from holdfast.data.pixels.drawn_frames import frame_colours
from holdfast.data.records import Record

PER_SPLIT = 160  # images of a split
MOST_SPLITS = 3
SIDE = 192  # pixels of the longer side
MOST_BOXES = 60  # of an image
LARGEST_PIXELS = 40_000_000  # a larger image is left out, unless it is a JPEG, which can be decoded small
PIECE = 8  # images that a worker takes at once


@dataclass(frozen=True, slots=True)
class SampledRecord:
    """A record to look at, and what is known of its image."""

    record: Record
    facts: ImageFacts
    file: str  # to name in a finding
    size: tuple[int, int]  # that its boxes are for


@dataclass(frozen=True, slots=True, eq=False)
class CloseLook:
    """One image, small and in the frame of its boxes; boxes in its pixels."""

    file: str
    split: str | None
    pixels: Any  # (height, width, 3), uint8
    boxes: Any  # (n, 4), float: x1, y1, x2, y2
    names: tuple[str, ...]
    scale: float = 1.0  # pixels here for one of those that the boxes count
    real_scale: float = 1.0  # pixels here for one of the image; differs where the declared size is another
    orientation: int = 1
    frames: Any = None  # (n, 4): is a line drawn on the box, and its colour; see drawn_frames

    @property
    def sides(self) -> tuple[int, int]:
        """Width and height."""
        return self.pixels.shape[1], self.pixels.shape[0]


class LookSample:
    """The same images at every check: of each split those whose names have the smallest digests."""

    def __init__(self, per_split: int = PER_SPLIT) -> None:
        self._per_split = per_split
        self._kept: dict[str | None, list[tuple[int, int, SampledRecord]]] = {}
        self._counts: dict[str | None, int] = {}

    def add(self, record: Record, facts: ImageFacts, file: str, *, relative: bool) -> None:
        self._counts[record.split] = count = self._counts.get(record.split, 0) + 1
        if facts.problem or not facts.width or not _decodable(facts):
            return
        digest = hashlib.blake2b(record.file_name.encode("utf-8", "replace"), digest_size=8).digest()
        rank = -int.from_bytes(digest)
        heap = self._kept.setdefault(record.split, [])
        if len(heap) >= self._per_split and rank <= heap[0][0]:
            return
        size = frame_size(record, facts, relative=relative) or facts.upright_size
        item = (rank, count, SampledRecord(record, facts, file, size))
        if len(heap) < self._per_split:
            heapq.heappush(heap, item)
        else:
            heapq.heapreplace(heap, item)

    def chosen(self) -> list[SampledRecord]:
        """In the order in which they came, of the largest splits."""
        largest = sorted(self._kept, key=lambda split: -self._counts[split])[:MOST_SPLITS]
        return [
            item[2]
            for split in self._kept
            if split in largest
            for item in sorted(self._kept[split], key=lambda one: one[1])
        ]

    def rate(self, split: str | None) -> float:
        """Which part of a split was chosen."""
        return len(self._kept.get(split, ())) / max(1, self._counts.get(split, 0))


def looks_at(sample: Sequence[SampledRecord], processes: int | None = None) -> Iterator[CloseLook]:
    """Each of the sample decoded, on all cores; what cannot be decoded is left out."""
    found = process_pool.run(_look_of, None, sample, crashed=_nothing, workers=processes, chunk=PIECE)
    return (look for look in found if look is not None)


def _decodable(facts: ImageFacts) -> bool:
    return facts.format == "JPEG" or facts.width * facts.height <= LARGEST_PIXELS


def _nothing(_: SampledRecord) -> CloseLook | None:
    return None


def _look_of(_: None, sampled: SampledRecord) -> CloseLook | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return close_look(sampled)
    except Exception:  # an image that changed meanwhile, or that only Pillow's draft cannot decode
        return None


def close_look(sampled: SampledRecord) -> CloseLook:
    """Decode one image of the sample."""
    import numpy as np
    from PIL import Image, ImageOps

    record, facts = sampled.record, sampled.facts
    image = open_image(record.image.read())
    image.draft("RGB", (4 * SIDE, 4 * SIDE))
    upright = frame_of(record, facts)[1].name != "stored"
    plain = as_rgb(ImageOps.exif_transpose(image) if upright and facts.orientation != 1 else image)
    boxes, names = _usable(record)
    sides = np.array([*sampled.size] * 2, float)
    frames = frame_colours(np.asarray(plain), boxes / sides) if len(boxes) else None
    scale = SIDE / max(plain.size)
    width, height = (max(8, round(side * scale)) for side in plain.size)
    small = np.asarray(plain.resize((width, height), Image.Resampling.BOX))
    boxes = boxes * (np.array([width, height] * 2) / sides)
    real = facts.upright_size if upright else facts.size
    scales = width / sampled.size[0], width / real[0]
    return CloseLook(sampled.file, record.split, small, boxes, names, *scales, facts.orientation, frames)


def _usable(record: Record) -> tuple[Any, tuple[str, ...]]:
    import numpy as np

    kept = [
        box
        for box in record.boxes[:MOST_BOXES]
        if not box.crowd and all(math.isfinite(corner) and abs(corner) < 1e7 for corner in box.corners)
    ]
    return np.array([box.corners for box in kept], float).reshape(-1, 4), tuple(box.name for box in kept)
