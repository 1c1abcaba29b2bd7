"""Turned images with boxes in either frame: the check and the pipeline take the same decision, and it is right."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.pipeline.rectangles import box_of, dataset_of, rectangle_image, save, truth_of

from holdfast.data.checking.dataset_check import record_problems
from holdfast.data.images.image_file import header
from holdfast.data.records import Box, Dataset, ImageRef, Record
from holdfast.pipeline import dataset_columns

TURNED = [(orientation, frame) for orientation in range(1, 9) for frame in ("upright", "stored")]
UPRIGHT_SIZE, UPRIGHT_BOX = (320, 160), (100, 20, 300, 150)
#: On its side, mirrored or not, the box reaches beyond the other frame: that proves which one it is in.


def turned_set(folder: Path) -> Dataset:
    records = []
    for number, (orientation, frame) in enumerate(TURNED):
        path = folder / f"{orientation}-{frame}.jpg"
        save(path, rectangle_image(*UPRIGHT_SIZE, UPRIGHT_BOX, "red"), orientation)
        corners = UPRIGHT_BOX if frame == "upright" else seen_as_stored(path)
        records.append(Record(str(number), path.name, ImageRef(str(path)), (Box(*corners, "red"),)))
    return dataset_of(records)


def seen_as_stored(path: Path) -> tuple[int, int, int, int]:
    """Where the rectangle is for a program that ignores the orientation: by its pixels."""
    from PIL import Image

    found = box_of(truth_of(np.asarray(Image.open(path).convert("RGB")), "red"))
    assert found is not None
    return found


def provable(orientation: int, frame: str) -> bool:
    return orientation >= 5 or frame == "upright"  # a mirrored image has the size of the stored one


def test_the_boxes_are_turned_where_the_frame_is_proved(tmp_path: Path) -> None:
    data = dataset_columns.columns_of(turned_set(tmp_path))
    assert not data.left_out and (data.sizes == UPRIGHT_SIZE).all()
    for (orientation, frame), box in zip(TURNED, data.boxes, strict=True):
        if provable(orientation, frame):
            assert np.abs(box - UPRIGHT_BOX).max() <= 1, (orientation, frame)


@pytest.mark.parametrize("number", range(len(TURNED)))
def test_the_check_says_the_frame_that_the_pipeline_takes(tmp_path: Path, number: int) -> None:
    orientation, frame = TURNED[number]
    record = turned_set(tmp_path).records[number]
    facts = header(record.image)
    assert facts is not None and facts.orientation == orientation
    said = {
        judged.problem.finding: judged.problem.detail
        for judged in record_problems(record, facts, relative=False)
    }
    assert set(said) == (set() if orientation == 1 else {"exif-rotated"})
    if orientation >= 5:
        assert f"boxes in the {frame} frame: the boxes fit " in said["exif-rotated"]
    elif orientation > 1:
        assert "boxes in the unclear frame: " in said["exif-rotated"]


@pytest.mark.hot
def test_the_batches_show_each_box_on_its_pixels(tmp_path: Path) -> None:
    from holdfast.pipeline.feed import Augment, Feed
    from holdfast.pipeline.stream import Stream

    made = turned_set(tmp_path)
    kept = [record for record, turn in zip(made.records, TURNED, strict=True) if provable(*turn)]
    feed = Feed(height=160, width=160, batch=len(kept), augment=Augment(flip=0.5, scale=(1.0, 1.5)))
    stream = Stream(dataset_columns.columns_of(dataset_of(kept)), feed)
    for _, batch in zip(range(3), stream.batches(), strict=False):
        for image, boxes, real, ignored in zip(
            batch["images"], batch["boxes"], batch["real"], batch["crowd"], strict=True
        ):
            truth = box_of(truth_of(image, "red"))
            if real[0] and not ignored[0] and truth is not None:
                assert np.abs(boxes[0] - truth).max() <= 2.0
