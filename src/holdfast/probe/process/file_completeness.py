"""Whether a file is complete, by what its own format says of its end. Only the ends of the file are read."""

from __future__ import annotations

import ast
import json
import os
import re
import struct
from typing import Any

_TAIL = 70_000  # a zip archive may have a comment after its directory
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


def _pickle(head: bytes, tail: bytes, size: int) -> str:
    return "" if tail.endswith(b".") else "the end of the pickle is missing"


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
