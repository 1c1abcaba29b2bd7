"""Whether a file is complete, by what its own format says of its end. Only the ends of the file are read."""

from __future__ import annotations

import ast
import json
import os
import re
import struct
import zlib
from typing import Any

from . import msgpack_end

_TAIL = 70_000  # a zip archive may have a comment after its directory
_MOST_READ, _CHUNK = 64 << 20, 1 << 16  # of a file that is read as a whole
_LEGACY_TORCH = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."  # numbers without a name follow its last pickle
_TABLE_END = b"\x57\xfb\x80\x8b\x24\x75\x47\xdb"  # of the index of a TensorFlow checkpoint


def why_incomplete(path: str) -> str | None:
    """What is missing: "" if the file is complete, None if its format is not known."""
    try:
        size = os.path.getsize(path)
        if not size:
            return "it is empty"
        with open(path, "rb") as file:
            head = file.read(4096)
            file.seek(max(0, size - _TAIL))
            tail = file.read(_TAIL)
    except OSError:
        return None
    if path.endswith(".index") and size < 1 << 24:
        return "" if tail.endswith(_TABLE_END) else "the end of its table is missing"
    for known, check in _FORMATS:
        if head.startswith(known):
            return check(head, tail, size)
    if path.endswith(".safetensors"):
        return _safetensors(head, path, size)
    if path.endswith(".json"):
        return _json(path, size)
    if head.startswith(b"\x1f\x8b"):
        return _gzip(path, size)
    if msgpack_end.is_map(head):
        wanted = msgpack_end.bytes_wanted(path, size)
        return _short(size, wanted) if wanted is not None else None
    return None


def _zip(head: bytes, tail: bytes, size: int) -> str:
    return (
        ""
        if b"PK\x05\x06" in tail or b"PK\x06\x06" in tail
        else "the directory at the end of the archive is missing"
    )


def _hdf5(head: bytes, tail: bytes, size: int) -> str | None:
    version = head[8]
    if version in (0, 1) and head[13] == 8:
        start = 24 + (4 if version == 1 else 0)
        end = struct.unpack("<Q", head[start + 16 : start + 24])[0]
    elif version in (2, 3) and head[9] == 8:
        end = struct.unpack("<Q", head[28:36])[0]
    else:
        return None
    return _short(size, end)


def _npy(head: bytes, tail: bytes, size: int) -> str | None:
    wide = head[6] >= 2
    length = struct.unpack("<I", head[8:12])[0] if wide else struct.unpack("<H", head[8:10])[0]
    start = (12 if wide else 10) + length
    if start > len(head):
        return None
    header = ast.literal_eval(head[start - length : start].decode("latin1").strip())
    item = re.fullmatch(r"[<>|=]?[a-zA-Z](\d+)", str(header.get("descr")))
    if item is None or "U" in str(header["descr"]):
        return None
    values = 1
    for side in header["shape"]:
        values *= int(side)
    return _short(size, start + values * int(item[1]))


def _jpeg(head: bytes, tail: bytes, size: int) -> str:
    return "" if b"\xff\xd9" in tail[-4096:] else "its end marker is missing"


def _png(head: bytes, tail: bytes, size: int) -> str:
    return "" if b"IEND" in tail[-4096:] else "its end marker is missing"


def _pickle(head: bytes, tail: bytes, size: int) -> str | None:
    if head.startswith(_LEGACY_TORCH):
        return None
    return "" if tail.endswith(b".") else "the end of the pickle is missing"


def _json(path: str, size: int) -> str | None:
    """Where it cannot be read because it ends; a mistake before its end is another fault."""
    if size > _MOST_READ:
        return None
    with open(path, encoding="utf-8", errors="replace") as file:
        text = file.read().rstrip()
    try:
        json.loads(text)
    except ValueError as error:
        at = getattr(error, "pos", 0)
        unclosed = "Unterminated" in str(error)  # names where the text began
        return "it ends within a value" if at >= len(text) or unclosed else None
    return ""


def _gzip(path: str, size: int) -> str | None:
    if size > _MOST_READ:
        return None
    unpacked = zlib.decompressobj(47)
    with open(path, "rb") as file:
        data = file.read(_CHUNK)
        while data:
            if unpacked.eof:  # another member
                unpacked = zlib.decompressobj(47)
            unpacked.decompress(data)
            data = unpacked.unused_data or file.read(_CHUNK)
    return "" if unpacked.eof else "its compressed data has no end"


def _safetensors(head: bytes, path: str, size: int) -> str | None:
    if len(head) < 8:
        return "its header is missing"
    length = struct.unpack("<Q", head[:8])[0]
    if length > size:
        return "its header is cut off"
    if length > 1 << 24:
        return None
    with open(path, "rb") as file:
        entries: dict[str, Any] = json.loads(file.read(8 + length)[8:])
    ends = [one["data_offsets"][1] for name, one in entries.items() if name != "__metadata__"]
    return _short(size, 8 + length + max(ends, default=0))


def _short(size: int, wanted: int) -> str:
    return "" if size >= wanted else f"it has {size} of {wanted} bytes"


_FORMATS = (
    (b"PK\x03\x04", _zip),
    (b"\x89HDF\r\n\x1a\n", _hdf5),
    (b"\x93NUMPY", _npy),
    (b"\xff\xd8\xff", _jpeg),
    (b"\x89PNG", _png),
    (b"\x80\x02", _pickle),
    (b"\x80\x03", _pickle),
    (b"\x80\x04", _pickle),
    (b"\x80\x05", _pickle),
)
