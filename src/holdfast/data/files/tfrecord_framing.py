"""The framing of TFRecord files: length, its checksum, data, its checksum; without TensorFlow.

`uint64 length | uint32 masked crc32c of the length | data | uint32 masked crc32c of the data`, little-endian.
A wrong length checksum loses the rest of the file, because nothing says where the next record begins.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

HEADER = struct.Struct("<QI")
FOOTER = struct.Struct("<I")
OVERHEAD_BYTES = HEADER.size + FOOTER.size
LARGEST_RECORD_BYTES = 512 << 20


def _checksum(data: bytes) -> int:
    import google_crc32c

    value: int = google_crc32c.value(data)
    return value


def masked_crc(data: bytes) -> int:
    crc = _checksum(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class RecordFrame:
    """Where the data of one record is in its file."""

    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class BrokenFrame:
    """The file cannot be followed from `offset` on; `lost_bytes` after it are unread."""

    offset: int
    why: str
    lost_bytes: int


def frames(handle: IO[bytes], file_bytes: int) -> Iterator[RecordFrame | BrokenFrame]:
    """The places of all records, by the headers alone; the data is skipped, not read."""
    position = 0
    while position < file_bytes:
        handle.seek(position)
        header = handle.read(HEADER.size)
        why = _broken_header(header, position, file_bytes)
        if why:
            yield BrokenFrame(position, why, file_bytes - position)
            return
        (length, _) = HEADER.unpack(header)
        yield RecordFrame(position + HEADER.size, length)
        position += length + OVERHEAD_BYTES


def _broken_header(header: bytes, position: int, file_bytes: int) -> str:
    if len(header) < HEADER.size:
        return "the file ends inside a record's header"
    length, crc = HEADER.unpack(header)
    if masked_crc(header[:8]) != crc:
        return "the checksum of the record's length is wrong"
    if position + length + OVERHEAD_BYTES > file_bytes:
        return f"the record should have {length} bytes and the file ends before that"
    if length > LARGEST_RECORD_BYTES:
        return f"the record has {length} bytes, more than {LARGEST_RECORD_BYTES}"
    return ""


def read_frame(handle: IO[bytes], frame: RecordFrame) -> bytes | None:
    """The data of one record, or None when its checksum does not match."""
    handle.seek(frame.offset)
    data = handle.read(frame.length + FOOTER.size)
    body = data[: frame.length]
    if len(data) != frame.length + FOOTER.size or FOOTER.unpack(data[frame.length :])[0] != masked_crc(body):
        return None
    return body


def framed(data: bytes) -> bytes:
    length = struct.pack("<Q", len(data))
    return length + FOOTER.pack(masked_crc(length)) + data + FOOTER.pack(masked_crc(data))


def looks_framed(start: bytes) -> bool:
    """The first 12 bytes carry a right checksum, which no other kind of file does by chance."""
    return len(start) >= HEADER.size and masked_crc(start[:8]) == HEADER.unpack(start[: HEADER.size])[1]
