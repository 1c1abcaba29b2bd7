"""Sorted tables of keys and values, the file format of LevelDB that TensorFlow's checkpoint indexes have.

A file is blocks, each followed by its compression and its checksum, then an index block and a footer that says where
the index is. Every offset and length is checked before it is used: the file may be truncated or made by an enemy.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

import google_crc32c

from holdfast.weights_import.object_detection_api.wire_format import BadWireFormat, varint

FOOTER_BYTES, TRAILER_BYTES = 48, 5
MAGIC = 0xDB4775248B80FB57
_NONE, _SNAPPY = 0, 1
_MOST_BLOCK_BYTES = 256 << 20


class BadTable(ValueError):
    """The bytes are no complete sorted table; the text says why."""


def entries(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """All keys and values in order."""
    if len(data) < FOOTER_BYTES:
        raise BadTable(f"{len(data)} bytes are less than a table's footer")
    footer = data[-FOOTER_BYTES:]
    (magic,) = struct.unpack("<Q", footer[-8:])
    if magic != MAGIC:
        raise BadTable("the last eight bytes are not those of a table: the file is truncated, or another one")
    try:
        _, place = _handle(footer, 0)  # of the metadata, which says nothing here
        index, _ = _handle(footer, place)
        for _, handle in _pairs(_block(data, index)):
            yield from _pairs(_block(data, _handle(handle, 0)[0]))
    except BadWireFormat as error:
        raise BadTable(str(error)) from error


def _handle(data: bytes, place: int) -> tuple[tuple[int, int], int]:
    offset, place = varint(data, place)
    length, place = varint(data, place)
    return (offset, length), place


def _block(data: bytes, handle: tuple[int, int]) -> bytes:
    offset, length = handle
    end = offset + length
    if end + TRAILER_BYTES > len(data) - FOOTER_BYTES:
        raise BadTable(f"a block of {length} bytes at {offset} reaches beyond the file")
    kind = data[end]
    (stored,) = struct.unpack("<I", data[end + 1 : end + TRAILER_BYTES])
    if stored != masked_crc(data[offset : end + 1]):
        raise BadTable(f"the checksum of the block at byte {offset} is wrong: the file was damaged")
    if kind == _NONE:
        return data[offset:end]
    if kind == _SNAPPY:
        return decompressed(data[offset:end])
    raise BadTable(f"the block at byte {offset} has the unknown compression {kind}")


def _pairs(block: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Keys share their first bytes with the key before."""
    if len(block) < 4:
        raise BadTable("a block without its last four bytes")
    (restarts,) = struct.unpack("<I", block[-4:])
    end = len(block) - 4 - 4 * restarts
    if end < 0:
        raise BadTable(f"a block of {len(block)} bytes with {restarts} restarts")
    place, key = 0, b""
    while place < end:
        shared, place = varint(block, place)
        fresh, place = varint(block, place)
        length, place = varint(block, place)
        if shared > len(key) or fresh + length > end - place:
            raise BadTable("an entry reaches beyond its block")
        key = key[:shared] + block[place : place + fresh]
        yield key, block[place + fresh : place + fresh + length]
        place += fresh + length


def masked_crc(data: bytes) -> int:
    """The checksum that LevelDB and TensorFlow store."""
    crc: int = google_crc32c.value(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def decompressed(data: bytes) -> bytes:
    """A block of Snappy's format: literals, and copies of what came before."""
    size, place = varint(data, 0)
    if size > _MOST_BLOCK_BYTES:
        raise BadTable(f"a compressed block says that it has {size} bytes")
    out = bytearray()
    while place < len(data):
        tag = data[place]
        place += 1
        if tag & 3 == 0:
            length, place = _literal_length(data, place, tag)
            part = data[place : place + length]
            if len(part) < length:
                raise BadTable("a compressed block ends inside a literal")
            out += part
            place += length
        else:
            length, back, place = _copy(data, place, tag)
            if not 0 < back <= len(out):
                raise BadTable("a compressed block copies from before its beginning")
            for _ in range(length):  # the copy may overlap what it writes
                out.append(out[-back])
        if len(out) > size:
            raise BadTable("a compressed block is larger than it says")
    if len(out) != size:
        raise BadTable("a compressed block is smaller than it says")
    return bytes(out)


def _literal_length(data: bytes, place: int, tag: int) -> tuple[int, int]:
    length = tag >> 2
    if length < 60:
        return length + 1, place
    extra = length - 59
    return int.from_bytes(data[place : place + extra], "little") + 1, place + extra


def _copy(data: bytes, place: int, tag: int) -> tuple[int, int, int]:
    """(length, how far back, the place behind)."""
    if tag & 3 == 1:
        return (
            ((tag >> 2) & 7) + 4,
            (tag >> 5 << 8) | int.from_bytes(data[place : place + 1], "little"),
            place + 1,
        )
    width = 2 if tag & 3 == 2 else 4
    return (tag >> 2) + 1, int.from_bytes(data[place : place + width], "little"), place + width
