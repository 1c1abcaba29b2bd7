"""Every augmentation against the oracle: a filled rectangle is moved, and the box must lie on its pixels."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tests.pipeline.rectangles import NAMES, box_of, dataset_of, random_rectangles, truth_of

from holdfast.pipeline import dataset_columns, feed
from holdfast.pipeline.feed import Augment, Feed
from holdfast.pipeline.stream import Stream

pytestmark = [pytest.mark.hot, pytest.mark.long(30)]

KINDS = {
    "none": Augment(),
    "flip": Augment(flip=1.0),
    "scale": Augment(scale=(0.4, 2.2)),
    "crop": Augment(crop=1.0),
    "expand": Augment(expand=1.0, expand_most=3.0),
    "mosaic": Augment(mosaic=1.0),
    "all": Augment(flip=0.5, scale=(0.6, 1.6), crop=0.8, expand=0.5, mosaic=0.5),
    "light": feed.LIGHT,
    "strong": feed.STRONG,
}


def misfits(stream: Stream, steps: int) -> list[float]:
    """For every box: how far its sides lie from the true pixels. A missing object is a misfit of 1000."""
    found = []
    for _, batch in zip(range(steps), stream.batches(), strict=False):
        for image, boxes, labels, real in zip(
            batch["images"], batch["boxes"], batch["labels"], batch["real"], strict=True
        ):
            for number in np.flatnonzero(real):
                others = boxes[(labels == labels[number]) & real & (np.arange(len(real)) != number)]
                found.append(misfit(image, boxes[number], others, NAMES[labels[number]]))
    return found


def misfit(image: np.ndarray, box: np.ndarray, others: np.ndarray, colour: str) -> float:
    """Looks no further than 4 pixels beyond the box, and not at other boxes of its colour in a mosaic."""
    height, width = image.shape[:2]
    true = truth_of(image, colour)
    for x1, y1, x2, y2 in np.rint(others).astype(int):
        true[max(0, y1 - 1) : y2 + 1, max(0, x1 - 1) : x2 + 1] = False
    x1, y1 = np.maximum(np.floor(box[:2]).astype(int) - 4, 0)
    x2, y2 = np.minimum(np.ceil(box[2:]).astype(int) + 4, [width, height])
    true = box_of(true[y1:y2, x1:x2])
    if true is None:
        return 0.0 if min(box[2] - box[0], box[3] - box[1]) < 2 else 1000.0
    return float(np.abs(np.add(true, [x1, y1, x1, y1]) - box).max())


@pytest.mark.parametrize(
    ("kind", "fit"), [*((kind, "letterbox") for kind in KINDS), ("crop", "stretch"), ("all", "stretch")]
)
def test_boxes_stay_on_their_pixels(kind: str, fit: feed.ResizeMode, folder_of: Callable) -> None:
    data = dataset_columns.columns_of(folder_of(random_rectangles(24)))
    stream = Stream(data, Feed(height=160, width=224, batch=8, seed=3, fit=fit, augment=KINDS[kind]))
    found = misfits(stream, 12)
    assert len(found) >= 60
    # A pixel, and half of one where an image is drawn at more than twice its size and an edge is a slope.
    assert max(found) <= 1.5, sorted(found)[-5:]
    assert np.mean(found) <= 0.6


def test_exif_orientation_is_applied(folder_of: Callable) -> None:
    records = []
    for orientation in range(1, 9):
        made = folder_of(random_rectangles(3, seed=orientation), ".jpg", orientation, f"turned-{orientation}")
        records += made.records
    data = dataset_columns.columns_of(dataset_of(records))
    assert data.orientations.tolist() == [orientation for orientation in range(1, 9) for _ in range(3)]
    for augment in (Augment(), Augment(flip=0.5, crop=0.8)):
        found = misfits(Stream(data, Feed(height=200, width=200, batch=12, augment=augment)), 4)
        assert len(found) >= 44 and max(found) <= 1.5


def test_images_decoded_small_keep_their_boxes(folder_of: Callable) -> None:
    """Odd sizes, so that the last pixel of the small image is a part of one; turned ones among them."""
    records = []
    for ratio in (1, 2, 4, 8):
        for orientation in (1, 3, 6):
            rectangles = random_rectangles(4, seed=ratio, sides=(61 * ratio, 93 * ratio))
            records += folder_of(rectangles, ".jpg", orientation, f"by-{ratio}-{orientation}").records
    feed = Feed(height=60, width=60, batch=12, augment=Augment(flip=0.5))
    stream = Stream(dataset_columns.columns_of(dataset_of(records)), feed)
    seen = {int(ratio) for step in range(4) for ratio in stream.one_step(step)["tiles"][:, 0, 2]}
    assert seen == {1, 2, 4, 8}
    found = misfits(stream, 4)
    assert len(found) == 48 and max(found) <= 1.5, sorted(found)[-6:]


def test_what_is_cut_away_is_a_region_to_ignore(folder_of: Callable) -> None:
    """A rectangle over the left half; the crops that hold less than its middle must call the rest crowd."""
    data = dataset_columns.columns_of(folder_of([(400, 400, (0, 0, 200, 400), "red")] * 8))
    stream = Stream(data, Feed(height=100, width=100, batch=8, augment=Augment(scale=(2.0, 2.0))))
    seen = set()
    for _, batch in zip(range(10), stream.batches(), strict=False):
        for image, box, real, crowd in zip(
            batch["images"], batch["boxes"], batch["real"], batch["crowd"], strict=True
        ):
            true = box_of(truth_of(image, "red"))
            width = 0 if true is None else true[2] - true[0]
            assert real[0] == (width >= 1)
            assert crowd[0] == (1 <= width < 50) or abs(width - 50) <= 1
            seen.add((bool(real[0]), bool(crowd[0])))
            if real[0]:
                assert abs(box[0, 2] - true[2]) <= 1.5
    assert seen == {(True, False), (True, True)} or seen == {(True, False), (True, True), (False, False)}


def test_a_mosaic_shows_four_images(folder_of: Callable) -> None:
    rectangles = [(300, 300, (0, 0, 300, 300), NAMES[n % 6]) for n in range(60)]
    stream = Stream(
        dataset_columns.columns_of(folder_of(rectangles)),
        Feed(height=96, width=96, batch=10, augment=Augment(mosaic=1.0)),
    )
    batch = next(stream.batches())
    assert (batch["real"].sum(axis=1) == 4).all()
    for image, boxes in zip(batch["images"], batch["boxes"], strict=True):
        areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
        assert areas[:4].sum() == 96 * 96  # the four tiles fill the canvas, with no grey between
        assert not (image == 114).all(axis=-1).any()
        assert list(areas) == sorted(areas, reverse=True)
