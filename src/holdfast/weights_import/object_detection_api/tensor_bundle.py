"""TensorFlow's checkpoints (tensor bundles) without TensorFlow: an index, and shards with the bytes of the tensors.

Nothing is executed, and nothing is allocated that the files do not have: every offset and length is checked against
the size of its shard before it is read.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from holdfast.errors import HoldfastError
from holdfast.weights_import.object_detection_api.sorted_table import BadTable, entries, masked_crc
from holdfast.weights_import.object_detection_api.wire_format import BadWireFormat, fields, signed, varint

#: TensorFlow's numbers of the types that weights and counters have.
DTYPES = {1: "<f4", 2: "<f8", 3: "<i4", 9: "<i8", 10: "|b1", 14: "bfloat16", 19: "<f2"}
STRING = 7
_LARGEST_INDEX = 256 << 20
_MOST_SHARDS = 4096

Array = NDArray[np.generic]


class BadCheckpoint(HoldfastError):
    """The files are no complete checkpoint of TensorFlow."""

    slug = "bad-checkpoint"


@dataclass(frozen=True, slots=True)
class BundleEntry:
    """Where one tensor is."""

    dtype: int
    shape: tuple[int, ...]
    shard: int
    offset: int
    size: int
    checksum: int
    sliced: bool


@dataclass(frozen=True)
class TensorBundle:
    """An opened checkpoint: `prefix` is what its files' names begin with."""

    prefix: Path
    shards: int
    tensors: Mapping[str, BundleEntry]

    def read(self, name: str) -> Array:
        """One tensor, as float32 where it is of 16 bits."""
        entry = self.tensors[name]
        if entry.dtype not in DTYPES or entry.sliced:
            raise self._bad(name, f"its type is number {entry.dtype}, which no weight has")
        data = self._bytes(name, entry)
        if masked_crc(data) != entry.checksum:
            raise self._bad(name, "its checksum is wrong: the file was damaged")
        if DTYPES[entry.dtype] == "bfloat16":
            wide = np.frombuffer(data, "<u2").astype("<u4") << np.uint32(16)
            return wide.view("<f4").reshape(entry.shape)
        return np.frombuffer(data, DTYPES[entry.dtype]).reshape(entry.shape)

    def read_string(self, name: str) -> bytes:
        """A scalar of bytes: its length, the checksum of the length, then the bytes."""
        data = self._bytes(name, self.tensors[name])
        try:
            length, place = varint(data, 0)
        except BadWireFormat as error:
            raise self._bad(name, str(error)) from error
        if self.tensors[name].dtype != STRING or length != len(data) - place - 4:
            raise self._bad(name, "it is no single string")
        lengths = length.to_bytes(4, "little") + data[place : place + 4]
        if masked_crc(lengths + data[place + 4 :]) != self.tensors[name].checksum:
            raise self._bad(name, "its checksum is wrong: the file was damaged")
        return data[place + 4 :]

    def _bytes(self, name: str, entry: BundleEntry) -> bytes:
        if not 0 <= entry.shard < self.shards:
            raise self._bad(name, f"it is in shard {entry.shard} of {self.shards}")
        path = shard_path(self.prefix, entry.shard, self.shards)
        wanted = math.prod(entry.shape) * item_bytes(entry.dtype) if entry.dtype in DTYPES else entry.size
        if wanted != entry.size:
            raise self._bad(name, f"{entry.size} bytes for a shape of {list(entry.shape)}")
        there = path.stat().st_size if path.is_file() else -1
        if there < 0:
            raise self._bad(name, f"its file {path.name} is missing")
        if entry.offset + entry.size > there:
            raise self._bad(
                name, f"{path.name} ends at byte {there}, and it reaches to {entry.offset + entry.size}"
            )
        with path.open("rb") as file:
            file.seek(entry.offset)
            data = file.read(entry.size)
        if len(data) != entry.size:
            raise self._bad(name, f"{path.name} changed while it was read")
        return data

    def _bad(self, name: str, found: str) -> BadCheckpoint:
        return BadCheckpoint(
            f"the checkpoint's tensor {name} cannot be read",
            where=self.prefix,
            found=found,
            change="copy the checkpoint again, with all its files",
        )


def shard_path(prefix: Path, shard: int, shards: int) -> Path:
    return prefix.with_name(f"{prefix.name}.data-{shard:05d}-of-{shards:05d}")


def index_path(prefix: Path) -> Path:
    return prefix.with_name(f"{prefix.name}.index")


def item_bytes(dtype: int) -> int:
    return 2 if DTYPES[dtype] == "bfloat16" else np.dtype(DTYPES[dtype]).itemsize


def open_bundle(prefix: Path) -> TensorBundle:
    """The checkpoint's index, read and checked; no tensor is read yet."""
    path = index_path(prefix)
    if path.stat().st_size > _LARGEST_INDEX:
        raise BadCheckpoint(
            "the checkpoint's index is larger than 256 MiB",
            where=path,
            change="give the prefix of a detector's checkpoint, as in --checkpoint ckpt-0",
        )
    shards, tensors = 0, {}
    try:
        for key, value in entries(path.read_bytes()):
            if not key:
                shards = _shards(value)
            else:
                tensors[key.decode("utf-8", "replace")] = _entry(value)
    except (BadTable, BadWireFormat) as error:
        raise BadCheckpoint(
            "the checkpoint's index cannot be read",
            where=path,
            found=str(error),
            change="copy the checkpoint again, with all its files",
        ) from error
    if not 0 < shards <= _MOST_SHARDS:
        raise BadCheckpoint(
            "the checkpoint's index does not say how many files there are",
            where=path,
            change="copy the checkpoint again, with all its files",
        )
    return TensorBundle(prefix, shards, tensors)


def _shards(header: bytes) -> int:
    values = dict(fields(header))
    if values.get(2, 0) != 0:
        raise BadTable("the tensors are of a big-endian machine")
    return _number(values.get(1, 0))


def _entry(data: bytes) -> BundleEntry:
    values: dict[int, int | bytes] = {}
    for number, value in fields(data):
        values[number] = value
    return BundleEntry(
        dtype=_number(values.get(1, 0)), shape=_shape(values.get(2, b"")), shard=_number(values.get(3, 0)),
        offset=_number(values.get(4, 0)), size=_number(values.get(5, 0)), checksum=_number(values.get(6, 0)),
        sliced=7 in values,
    )  # fmt: skip


def _shape(data: int | bytes) -> tuple[int, ...]:
    if not isinstance(data, bytes):
        raise BadWireFormat("a shape that is a number")
    sides = []
    for number, dimension in fields(data):
        if number == 2 and isinstance(dimension, bytes):
            sides.append(signed(_number(dict(fields(dimension)).get(1, 0))))
    if any(side < 0 for side in sides) or len(sides) > 8:
        raise BadWireFormat(f"a shape of {sides[:9]}")
    return tuple(sides)


def _number(value: int | bytes) -> int:
    if not isinstance(value, int):
        raise BadWireFormat("bytes where a number belongs")
    return value
