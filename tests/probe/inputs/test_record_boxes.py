"""Boxes in TFRecords, found after a check in the graph has failed."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.data.files.tfrecord_framing import framed
from holdfast.data.formats.tf_example import serialize_example
from holdfast.journal.events import BatchSeen
from holdfast.probe.inputs import record_boxes, record_files

from ..probed import new_context, recorded


def example(low: float, high: float) -> bytes:
    edges = {"image/object/bbox/xmin": [0.1, low], "image/object/bbox/xmax": [0.2, high]}
    return framed(serialize_example({"image/encoded": [b"x" * 1000], "image/height": [7], **edges}))


def test_the_box_that_the_error_names_is_found_in_a_file_that_is_open(tmp_path: Path) -> None:
    path = tmp_path / "train.record"
    path.write_bytes(example(0.3, 0.4) + example(0.9, 0.5) + example(0.6, 0.25))
    context = new_context(tmp_path / "run")
    with path.open("rb"):
        assert record_files.open_files() == [str(path)]
        record_boxes.search(context, ValueError("assertion failed: [0.600000024] [0.25]"))
    (seen,) = recorded(context, BatchSeen)
    boxes = seen.parts[0]["boxes"]
    assert (boxes["inverted"], boxes["rows"], boxes["records"]) == (2, [1, 2], 3)
    assert (boxes["edges"], boxes["in_error"]) == ([0.6, 0.25], True)


@pytest.mark.parametrize("content", [b"", b"not a record at all, but long enough", example(0.3, 0.4)])
def test_other_files_are_not_blamed(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "train.record"
    path.write_bytes(content)
    context = new_context(tmp_path / "run")
    with path.open("rb"):
        record_boxes.search(context, ValueError("assertion failed: [0.3] [0.4]"))
    assert recorded(context, BatchSeen) == []


def test_an_error_that_is_no_failed_check_reads_nothing(tmp_path: Path) -> None:
    context = new_context(tmp_path / "run")
    path = tmp_path / "train.record"
    path.write_bytes(example(0.9, 0.5))
    with path.open("rb"):
        record_boxes.search(context, ValueError("out of memory"))
    assert recorded(context, BatchSeen) == []
