"""After a failure: which of the dataset's own files are damaged. Reads only, and not for long."""

from __future__ import annotations

import os
import re
import struct
import time
from collections.abc import Callable
from typing import Any

from ...journal.events import BadFilesFound
from ..runtime.context import ProbeContext
from . import record_files

PART = "bad_files"
_BUDGET_S = 2.0
_KEEP = 20
_IMAGE_WORDS = re.compile(
    r"decode|jpeg|png\b|image file format|Input is empty|Expected image|truncated|cannot identify image|"
    r"UnidentifiedImage",
    re.IGNORECASE,
)
_RECORD_WORDS = re.compile(r"(?:corrupted|truncated) record at (\d+)|DataLoss", re.IGNORECASE)
_IMAGES = (".jpg", ".jpeg", ".png", ".gif", ".bmp", ".webp")


def search(context: ProbeContext, error: BaseException) -> None:
    """When the failure is about images or records: reads the files that the dataset's nodes name."""
    dataset, text = context.data.dataset, str(error)
    records = _RECORD_WORDS.search(text)
    if not records and (dataset is None or not _IMAGE_WORDS.search(text)):
        return
    files = record_files.of_run(context)
    if records:
        offset = int(records[1]) if records[1] else None
        faults = examine(files, lambda path: record_fault(path, offset))
    else:
        faults = examine([path for path in files if path.lower().endswith(_IMAGES)] or files, image_fault)
    if files:
        context.record(faults)


def examine(
    files: list[str],
    fault_of: Callable[[str], dict[str, Any] | None],
    *,
    budget_s: float = _BUDGET_S,
    monotonic: Callable[[], float] = time.monotonic,
) -> BadFilesFound:
    bad: list[dict[str, Any]] = []
    begun, checked = monotonic(), 0
    for path in files:
        if monotonic() - begun > budget_s or len(bad) >= _KEEP:
            break
        checked += 1
        fault = fault_of(path)
        if fault is not None:
            bad.append({"path": path, **fault})
    return BadFilesFound(files=bad, looked_at=checked, of=len(files))


def image_fault(path: str) -> dict[str, Any] | None:
    """By the first and the last bytes; a flipped bit in the middle is not found this way."""
    try:
        with open(path, "rb") as file:
            head = file.read(16)
            size = os.fstat(file.fileno()).st_size
            file.seek(max(0, size - 64))
            tail = file.read(64)
    except OSError as error:
        return {"what": f"cannot be read: {error.strerror}", "errno": error.errno}
    if not size:
        return {"what": "empty"}
    if head.startswith(b"\xff\xd8"):
        return None if b"\xff\xd9" in tail else {"what": "a JPEG without its end", "bytes": size}
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return None if b"IEND" in tail else {"what": "a PNG without its end", "bytes": size}
    if head.startswith((b"GIF8", b"BM")) or head[8:12] == b"WEBP":
        return None
    return {"what": "not an image", "begins": head[:12].hex(" "), "bytes": size}


def record_fault(path: str, offset: int | None) -> dict[str, Any] | None:
    """Walks the records by their lengths; with an offset, only a file that has a record there is blamed."""
    try:
        with open(path, "rb") as file:
            return _walk(file, os.fstat(file.fileno()).st_size, offset)
    except OSError as error:
        return {"what": f"cannot be read: {error.strerror}", "errno": error.errno}


def _walk(file: Any, size: int, offset: int | None) -> dict[str, Any] | None:
    at = 0
    while at < size:
        file.seek(at)
        header = file.read(12)
        if len(header) < 12:
            return {"what": "cut inside a record's header", "offset": at}
        length, checksum = struct.unpack("<QI", header)
        if masked_crc32c(header[:8]) != checksum:
            return (
                {"what": "the length of a record is damaged", "offset": at}
                if offset in (None, at, at + 12)
                else None
            )
        if at + 12 + length + 4 > size:
            return {"what": "cut inside a record", "offset": at}
        if offset in (at, at + 12):  # TensorFlow names the record, or the data behind its header
            data = file.read(length + 4)
            intact = masked_crc32c(data[:-4]) == struct.unpack("<I", data[-4:])[0]
            return None if intact else {"what": "a record is damaged", "offset": at, "bytes": length}
        if offset is not None and at > offset:
            return None
        at += 12 + length + 4
    return None


def masked_crc32c(data: bytes) -> int:
    """The checksum of TFRecord: CRC-32C, rotated and shifted by a constant."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    crc ^= 0xFFFFFFFF
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def _table() -> list[int]:
    entries = []
    for value in range(256):
        for _ in range(8):
            value = (value >> 1) ^ (0x82F63B78 if value & 1 else 0)
        entries.append(value)
    return entries


_TABLE = _table()
