"""What a pipeline reads, where a function behind it has made a value that is not finite."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np

from holdfast.data.files.tfrecord_framing import framed
from holdfast.data.formats.tf_example import serialize_example
from holdfast.journal.events import BatchSeen
from holdfast.probe.inputs import stored_values

from ..probed import new_context, recorded

_BOXES = (
    np.tile(np.array([4.0, 6.0, 20.0, 30.0], "float32"), (40, 1)) + np.arange(40, dtype="float32")[:, None]
)


def _swapped() -> np.ndarray:
    boxes = _BOXES.copy()
    boxes[17] = boxes[17][[2, 1, 0, 3]]
    return boxes


def test_arrays_and_lists_of_a_loader(tmp_path: Path) -> None:
    context = new_context(tmp_path / "run")
    rows = [("image.png", box) for box in _swapped()]
    stored_values.of_loader(context, SimpleNamespace(boxes=_swapped(), rows=rows, size=4))
    (seen,) = recorded(context, BatchSeen)
    assert [(part["path"], part["finite"], part["boxes"]["rows"]) for part in seen.parts] == [
        ("boxes", True, [17]), ("rows", True, [17]),
    ]  # fmt: skip
    assert {part["found"] for part in seen.parts} == {"stored"}


def test_healthy_boxes_and_a_gap(tmp_path: Path) -> None:
    gap = _BOXES.copy()
    gap[3, 2] = np.nan
    healthy, broken = stored_values.of_arrays([("boxes", _BOXES), ("gap", gap)])
    assert healthy == {"path": "boxes", "shape": [40, 4], "finite": True}
    assert broken["finite"] is False and broken["row"] == 3


def test_records_with_boxes_in_one_list(tmp_path: Path) -> None:
    path = tmp_path / "train.tfrecord"
    examples = [
        serialize_example({"box": [float(one) for one in box], "image": [b"x"]}) for box in _swapped()
    ]
    path.write_bytes(b"".join(framed(one) for one in examples))
    (part,) = stored_values._of_records(str(path), float("inf"))
    assert part["finite"] is True
    assert (part["boxes"]["inverted"], part["boxes"]["rows"]) == (1, [17])
