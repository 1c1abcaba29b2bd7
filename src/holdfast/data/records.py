"""What every format is read into: images, boxes and classes, typed and frozen.

Boxes are `(x1, y1, x2, y2)` in absolute pixels, `x2` and `y2` exclusive: a box over a whole image of
640x480 is `(0, 0, 640, 480)`. Nothing here opens a file except `ImageRef.read`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from holdfast.data.files.packed_list import PackedList


@dataclass(frozen=True, slots=True)
class Box:
    """One object. The values are as the source has them, so they may be dirty: inverted, outside, NaN."""

    x1: float
    y1: float
    x2: float
    y2: float
    name: str  # the class, by name; never an index
    crowd: bool = False  # COCO's iscrowd, Open Images' group_of
    difficult: bool = False
    id: int | None = None  # COCO's annotation id
    area: float | None = None  # of the outline, where the source says it; COCO's size classes use it

    def __reduce__(self) -> tuple[Any, ...]:
        """A tenth of the time of what a dataclass with slots does by itself: datasets travel and are stored so."""
        flags = self.crowd, self.difficult
        return Box, (self.x1, self.y1, self.x2, self.y2, self.name, *flags, self.id, self.area)

    @property
    def corners(self) -> tuple[float, float, float, float]:
        return (self.x1, self.y1, self.x2, self.y2)

    @property
    def width(self) -> float:
        return self.x2 - self.x1

    @property
    def height(self) -> float:
        return self.y2 - self.y1


@dataclass(frozen=True, slots=True)
class ImageRef:
    """Where the encoded bytes of an image are, and the size that the annotation declares for it.

    With an `offset` the bytes are a slice of the file: the `image/encoded` of one record of a TFRecord
    shard, so they are read at random access without parsing the record.
    """

    path: str  # a local path or an fsspec URL
    offset: int | None = None
    length: int | None = None
    width: int | None = None
    height: int | None = None
    inside: str = ""  # the key of a JSON file with the bytes as base64, or the place in a Parquet file

    def __reduce__(self) -> tuple[Any, ...]:
        size = self.width, self.height
        return ImageRef, (self.path, self.offset, self.length, *size, self.inside)

    @property
    def in_shard(self) -> bool:
        return self.offset is not None

    @property
    def declared_size(self) -> tuple[int, int] | None:
        return (self.width, self.height) if self.width and self.height else None

    def read(self) -> bytes:
        """The encoded bytes: JPEG, PNG or whatever they are."""
        from holdfast.data.files.filesystem import read_bytes

        if self.inside.startswith("parquet:"):
            from holdfast.data.files.parquet_rows import image_bytes

            return image_bytes(self.path, self.inside)
        data = read_bytes(self.path, self.offset or 0, self.length)
        if not self.inside:
            return data
        from holdfast.data.files.base64_field import decode_image

        return decode_image(data, self.inside, self.path)


@dataclass(frozen=True, slots=True)
class Record:
    """One image and its boxes; no boxes is a negative, which is a legitimate example."""

    id: str  # unique within its split: COCO's image id, `image/source_id`, or the path without extension
    file_name: str  # as the source calls the image, with forward slashes: "train/cat 1.jpg"
    image: ImageRef
    boxes: tuple[Box, ...] = ()
    split: str | None = None  # "train", "val", …; None where the source has no splits
    source: str = ""  # the annotation file that it came from, for messages; empty for an image without one
    frame: str = (
        ""  # "upright" or "stored" where the boxes were fractions of an image turned so, or as it is stored
    )

    def __reduce__(self) -> tuple[Any, ...]:
        rest = self.split, self.source, self.frame
        return Record, (self.id, self.file_name, self.image, self.boxes, *rest)


@dataclass(frozen=True, slots=True)
class Dataset:
    """All records of a source. `class_ids[i]` is the id that the source itself uses for `classes[i]`."""

    path: str
    format: str  # a key of `data.formats.FORMATS`
    records: Sequence[Record]
    classes: tuple[str, ...]
    class_ids: tuple[int | None, ...] = ()
    #: On this machine, where the images are expected; empty for a URL or for shards.
    folder: str = field(default="", compare=False)

    @property
    def boxes(self) -> int:
        return sum(len(record.boxes) for record in self.records)

    @property
    def splits(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(record.split for record in self.records if record.split is not None))

    def index(self) -> dict[str, int]:
        """Class name to its position in `classes`: the contiguous number that a model predicts."""
        return {name: position for position, name in enumerate(self.classes)}

    def only_split(self, split: str) -> Dataset:
        return self.with_records(record for record in self.records if record.split == split)

    def with_records(self, records: Iterable[Record]) -> Dataset:
        """In memory or on disk, as those that are here."""
        on_disk = isinstance(self.records, PackedList)
        return replace(self, records=PackedList(records) if on_disk else tuple(records))


def names_in(records: Iterable[Record]) -> tuple[str, ...]:
    """The class names that the boxes use, sorted: the order where a source has no ids of its own."""
    return tuple(sorted({box.name for record in records for box in record.boxes}))
