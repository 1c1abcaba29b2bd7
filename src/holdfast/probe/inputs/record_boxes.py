"""After a failed check in a graph: boxes in the TFRecords whose lower edge is above the upper one. Reads only.

A tf.train.Example that describes boxes has one list of numbers for each edge, named alike but for "min" and "max":
`image/object/bbox/xmin` and `image/object/bbox/xmax`. An assertion in a graph says which numbers failed it, and
neither of which example nor of what.
"""

from __future__ import annotations

import os
import re
import struct
import time
from collections.abc import Iterator
from typing import Any

from ...journal.events import BatchSeen
from ..runtime.context import ProbeContext
from . import record_files

PART = "record_boxes"
_ASSERTION = re.compile(r"assertion failed|box|\bAssert", re.IGNORECASE)
_NUMBERS = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")
_BUDGET_S = 2.0
_ROWS = 8
_VARINT, _BYTES = 0, 2
_WIDTHS = {1: 8, 5: 4}
_LARGEST_RECORD = 64 << 20


def search(context: ProbeContext, error: BaseException) -> None:
    if not _ASSERTION.search(str(error)):
        return
    end = time.monotonic() + _BUDGET_S
    named = {round(float(number), 4) for number in _NUMBERS.findall(str(error))}
    for path in record_files.of_run(context):
        faults = _faults_in(path, end, named)
        if faults:
            part = {"path": path, "found": "records", "boxes": faults}
            context.record(BatchSeen(role="train", step=context.heartbeat.step, parts=[part]))
            return


def _faults_in(path: str, end: float, named: set[float]) -> dict[str, Any]:
    """`named`: numbers that the error names; edges among them are the ones that failed."""
    inverted = looked_at = 0
    rows: list[int] = []
    edges: list[float] = []
    in_error = False
    for number, record in enumerate(records(path)):
        if time.monotonic() > end:
            break
        looked_at = number + 1
        for pair in inverted_pairs(features_of(record)):
            inverted += 1
            rows += [number] if number not in rows[-1:] else []
            shown = [round(value, 4) for value in pair]
            if not in_error and (not edges or named.issuperset(shown)):
                edges, in_error = shown, named.issuperset(shown)
    if not inverted:
        return {}
    return {
        "inverted": inverted, "rows": rows[:_ROWS], "edges": edges, "in_error": in_error, "records": looked_at,
    }  # fmt: skip


def inverted_pairs(features: dict[str, list[float]]) -> Iterator[tuple[float, float]]:
    """The lower and the upper edge of every box whose edges are in the wrong order."""
    for name, lower in features.items():
        folder, slash, last = name.rpartition("/")
        upper = features.get(folder + slash + last.replace("min", "max")) if "min" in last else None
        if upper is not None and len(upper) == len(lower):
            for low, high in zip(lower, upper):
                if low > high:
                    yield low, high


def records(path: str) -> Iterator[bytes]:
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        at = 0
        while at + 12 <= size:
            file.seek(at)
            (length,) = struct.unpack("<Q", file.read(8))
            if length > min(_LARGEST_RECORD, size - at):
                return
            file.seek(at + 12)
            yield file.read(length)
            at += 12 + length + 4


def features_of(record: bytes) -> dict[str, list[float]]:
    """The lists of floats of a tf.train.Example whose names end in an edge."""
    return {name: values for name, values in floats_of(record).items() if name.endswith(("min", "max"))}


def floats_of(record: bytes) -> dict[str, list[float]]:
    """The lists of floats of a tf.train.Example; none of bytes that are something else."""
    found: dict[str, list[float]] = {}
    try:
        for _, features in _messages(record, {1}):
            for _, entry in _messages(features, {1}):
                fields = dict(_messages(entry, {1, 2}))
                name = fields.get(1, b"").decode("utf-8", "replace")
                values = [
                    value for _, floats in _messages(fields.get(2, b""), {2}) for value in _floats(floats)
                ]
                if values:
                    found[name] = values
    except (IndexError, struct.error):
        return {}
    return found


def _floats(data: bytes) -> Iterator[float]:
    for _, packed in _messages(data, {1}):
        for (value,) in struct.iter_unpack("<f", packed[: len(packed) // 4 * 4]):
            yield value


def _messages(data: bytes, wanted: set[int]) -> Iterator[tuple[int, bytes]]:
    """Fields of a message that have a length, in the wire format of protocol buffers."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        kind, field = key & 7, key >> 3
        if kind == _VARINT:
            _, at = _varint(data, at)
        elif kind == _BYTES:
            length, at = _varint(data, at)
            if field in wanted:
                yield field, data[at : at + length]
            at += length
        elif kind in _WIDTHS:
            if field in wanted and kind == 5:  # a float that is not packed
                yield field, data[at : at + 4]
            at += _WIDTHS[kind]
        else:
            return


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            return value, at
