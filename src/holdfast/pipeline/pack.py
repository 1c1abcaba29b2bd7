"""Small copies of images far larger than training needs, made once, read in every later epoch.

Each is stored at the size that the largest enlargement of the augmentation still needs, upright, in shards of
concatenated JPEGs with an index beside each. A pack is never needed: without one, the images are read as they
are. The name of its folder is a digest of everything that changes its content. `packing` makes one.
"""

from __future__ import annotations

import hashlib
import json
import os
from array import array
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from holdfast.data.files import cloud_copy, filesystem, json_stream
from holdfast.data.files.packed_list import PackedWriter
from holdfast.pipeline.dataset_columns import Columns
from holdfast.pipeline.feed import Feed
from holdfast.pipeline.image_sizes import packed_sizes

LAYOUT = 3  # of the shards and the index; a change of the code that changes the bytes raises it
QUALITY = 95
WORTH_PACKING_RATIO = 0.6  # an image is packed when its copy has at most this share of its pixels


@dataclass(frozen=True, slots=True)
class PackItem:
    """One image to pack: where it is, and the upright size of its copy."""

    row: int
    path: str
    offset: int
    length: int
    changed_ns: int
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class PackJob:
    items: Sequence[PackItem]
    budget_bytes: int

    @property
    def key(self) -> str:
        """Everything that changes the content: the images, their target sizes, and what encodes them.

        Not the budget, which decides only how many of them are there: training looks for a pack and does not
        know what was allowed. A finished pack never changes; the index says which images it holds.
        """
        import PIL
        from PIL import features

        made_by = [
            LAYOUT,
            QUALITY,
            PIL.__version__,
            features.version("jpg") or features.version("libjpeg_turbo"),
        ]
        digest = hashlib.sha256(json.dumps(made_by).encode())
        for item in self.items:
            digest.update(json.dumps(asdict(item) | _in_a_bucket(item)).encode())
        return digest.hexdigest()[:20]


def _in_a_bucket(item: PackItem) -> dict[str, object]:
    """What identifies the file of a local copy: the pack of a bucket is one, wherever it is made and read."""
    url = cloud_copy.origin(item.path)
    return {} if url is None else {"path": url, "changed_ns": 0}


@dataclass(frozen=True)
class PackIndex:
    """A finished pack. Rows that are not in it are read as they are."""

    key: str
    rows: np.ndarray
    paths: list[str]
    offsets: np.ndarray
    lengths: np.ndarray
    sizes: np.ndarray  # (n, 2) width, height
    from_epoch: int = (
        0  # originals before, copies from here on: a function of the epoch, so that resuming is exact
    )


def plan_pack(columns: Columns, feed: Feed, budget_bytes: int) -> PackJob:
    """The images that are worth packing, in the order of the dataset."""
    wanted = packed_sizes(columns, feed)
    pixels = columns.sizes.astype(np.int64).prod(axis=1)
    worth = wanted.prod(axis=1) <= WORTH_PACKING_RATIO * pixels
    items = PackedWriter[PackItem]()
    for row in np.flatnonzero(worth).tolist():
        if row in columns.unreadable:
            continue
        changed = filesystem.size_and_time(columns.paths[row])
        where = columns.paths[row], int(columns.offsets[row]), int(columns.lengths[row])
        items.add(PackItem(row, *where, changed[1] if changed else 0, *wanted[row].tolist()))
    return PackJob(items.finished(), budget_bytes)


def read(folder: Path, from_epoch: int = 0) -> PackIndex | None:
    """A finished pack; None when it is not finished, is empty, or a shard is not as long as its index says."""
    found, paths, key = array("q"), [], ""
    try:
        with (folder / "index.json").open("rb") as file:
            for name, value in json_stream.top_level(file):
                key = value if name == "key" else key
                if name != "shards":
                    continue
                where = str(folder / value["file"])
                if os.stat(where).st_size != value["bytes"]:
                    return None
                found.extend(number for image in value["pictures"] for number in image)
                paths += [where] * len(value["pictures"])
    except (OSError, ValueError, KeyError):
        return None
    if not paths:
        return None
    numbers = np.array(found, np.int64).reshape(-1, 5)
    return PackIndex(
        key=key, rows=numbers[:, 0], paths=paths, offsets=numbers[:, 1], lengths=numbers[:, 2],
        sizes=numbers[:, 3:5], from_epoch=from_epoch,
    )  # fmt: skip


def with_packed(columns: Columns, packed: PackIndex) -> Columns:
    """The columns twice, one after the other: the images as they are, and as they are in the pack."""
    n = len(columns)
    paths, offsets, lengths = list(columns.paths), columns.offsets.copy(), columns.lengths.copy()
    file_bytes, sizes = columns.file_bytes.copy(), columns.stored_sizes.copy()
    orientations, codecs = columns.orientations.copy(), columns.codecs.copy()
    scale = np.ones((n, 4), np.float32)
    shard_bytes = {path: os.stat(path).st_size for path in set(packed.paths)}
    for at, row in enumerate(packed.rows.tolist()):
        paths[row] = packed.paths[at]
        file_bytes[row] = shard_bytes[packed.paths[at]]
        scale[row] = np.tile(packed.sizes[at] / columns.sizes[row], 2)
    offsets[packed.rows], lengths[packed.rows], sizes[packed.rows] = (
        packed.offsets,
        packed.lengths,
        packed.sizes,
    )
    orientations[packed.rows], codecs[packed.rows] = 1, 0
    boxes = columns.boxes * np.repeat(scale, np.diff(columns.first), axis=0)
    return Columns(
        ids=[*columns.ids, *columns.ids], paths=[*columns.paths, *paths],
        offsets=np.concatenate([columns.offsets, offsets]), lengths=np.concatenate([columns.lengths, lengths]),
        file_bytes=np.concatenate([columns.file_bytes, file_bytes]),
        stored_sizes=np.concatenate([columns.stored_sizes, sizes]),
        orientations=np.concatenate([columns.orientations, orientations]),
        codecs=np.concatenate([columns.codecs, codecs]), boxes=np.concatenate([columns.boxes, boxes]),
        labels=np.tile(columns.labels, 2), crowds=np.tile(columns.crowds, 2),
        difficult=np.tile(columns.difficult, 2), areas=np.tile(columns.areas, 2),
        first=np.concatenate([columns.first, columns.first[1:] + columns.first[-1]]), classes=columns.classes,
        unreadable=columns.unreadable, left_out=columns.left_out,
    )  # fmt: skip
