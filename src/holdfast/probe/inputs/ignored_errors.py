"""At the end of a run whose pipeline ignores errors: what was passed over in silence."""

from __future__ import annotations

import os
import struct
import time
from typing import Any

from ...journal.events import DataDropped
from ...typing_names import Literal
from ..runtime.context import ProbeContext
from ..state import tfdata_graph
from .bad_files import examine, image_fault

PART = "ignored_errors"
_BUDGET_S = 3.0
_IMAGES = (".jpg", ".jpeg", ".png", ".gif", ".bmp", ".webp")


class IgnoredErrors:
    def __init__(self, context: ProbeContext) -> None:
        self._context = context
        self._watching = False

    def watch(self, dataset: Any, described: list[dict[str, Any]]) -> None:
        """Has the files read when the process ends; a training that is under way is not disturbed."""
        context = self._context
        if self._watching or not any("ignore_errors" in str(node.get("op", "")) for node in described):
            return
        self._watching = True
        files = [path for path in tfdata_graph.files_of(dataset) if "://" not in path]
        records = any("tfrecord" in str(node.get("op", "")) for node in described)
        context.at_exit.append(lambda: context.guard(PART, _record, context, files, records))


def _record(context: ProbeContext, files: list[str], records: bool) -> None:
    lost = lost_records(files) if records else _bad_images(files)
    total = sum(count for _, count in lost)
    if not total:
        return
    unit: Literal["records", "images"] = "records" if records else "images"
    context.record(DataDropped(count=total, unit=unit, lost_by_file=dict(lost[:20])))


def _bad_images(files: list[str]) -> list[tuple[str, int]]:
    images = [path for path in files if path.lower().endswith(_IMAGES)]
    return [(str(one["path"]), 1) for one in examine(images, image_fault, budget_s=_BUDGET_S).files]


def lost_records(files: list[str]) -> list[tuple[str, int]]:
    """Files with records that TensorFlow does not read, and how many, by the lengths that are written in them."""
    until = time.monotonic() + _BUDGET_S
    lost = []
    for path in files:
        if time.monotonic() > until:
            break
        written, read = records_written(path), _records_read(path, until)
        if read is not None and written > read:
            lost.append((path, written - read))
    return lost


def records_written(path: str) -> int:
    """By the length before each record; a file that is cut counts the record that it cuts."""
    count, at = 0, 0
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            while at + 12 <= size:
                file.seek(at)
                (length,) = struct.unpack("<Q", file.read(8))
                if length > size:
                    return count + 1
                count += 1
                at += 12 + length + 4
    except OSError:
        return 0
    return count + (at < size)


def _records_read(path: str, until: float) -> int | None:
    import tensorflow as tf

    count = 0
    try:
        for _ in tf.data.TFRecordDataset(path):
            count += 1
            if count % 256 == 0 and time.monotonic() > until:
                return None
    except tf.errors.DataLossError:
        pass
    return count
