"""The real sets through the pipeline: every box of the source comes out, at its place."""

from __future__ import annotations

import numpy as np
import pytest
from tests import real_data

from holdfast.data.reading.load import read
from holdfast.pipeline import dataset_columns
from holdfast.pipeline.feed import STRONG, Feed
from holdfast.pipeline.stream import Stream

pytestmark = pytest.mark.hot

SETS = real_data.DATA


@real_data.needs(SETS)
@pytest.mark.parametrize("name", ["hyphal_tfrecord", "tfrecord_misc", "microcontroller"])
def test_every_box_comes_back_through_the_mapping(name: str) -> None:
    path = next((SETS / name).rglob("*.record*"), SETS / name) if "tfrecord" in name else SETS / name
    path = next(SETS.rglob("pets_examples.record")) if name == "tfrecord_misc" else path
    data = dataset_columns.columns_of(read(str(path), strict=False))
    assert data.unreadable == {}
    stream = Stream(data, Feed(height=128, width=128, batch=8, shuffle=False, endless=False))
    seen, boxes = 0, 0
    for batch in stream.batches():
        for image, mapping, found, real, counts in zip(
            batch["image"], batch["mapping"], batch["boxes"], batch["real"], batch["in_epoch"], strict=True
        ):
            if not counts:
                continue
            back = (found[real] - np.tile(mapping[2:], 2)) / np.tile(mapping[:2], 2)
            expected = data.boxes[data.first[image] : data.first[image + 1]]
            assert len(back) == len(expected)
            nearest = np.abs(back[:, None] - expected[None]).max(axis=2).min(axis=1)
            assert nearest.max(initial=0.0) < 1e-2 * max(data.sizes[image]) / 128 + 0.05
            seen, boxes = seen + 1, boxes + len(back)
    assert seen == len(data) and boxes == len(data.boxes)
    augmented = next(Stream(data, Feed(height=128, width=128, batch=4, augment=STRONG)).batches())
    assert augmented["real"].any()
