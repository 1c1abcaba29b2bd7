"""The same seed gives the same batches; a restarted stream is the tail of the whole one; nothing is lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.pipeline.rectangles import NAMES, dataset_of, random_rectangles

from holdfast.data.records import Box, ImageRef, Record
from holdfast.errors import DataError, UndecodableImage
from holdfast.pipeline import dataset_columns, feed, order
from holdfast.pipeline.feed import Augment, Feed
from holdfast.pipeline.image_cache import ImageCache
from holdfast.pipeline.stream import BadImage, Stream

pytestmark = [pytest.mark.hot, pytest.mark.long(40)]

EVERYTHING = Augment(
    flip=0.5,
    scale=(0.6, 1.6),
    crop=0.8,
    expand=0.5,
    mosaic=0.5,
    brightness=0.1,
    contrast=0.3,
    saturation=0.3,
    hue=0.1,
)
SMALL = Feed(height=64, width=80, batch=5, seed=7, augment=EVERYTHING)


def first(count: int, batches: Iterator[dict]) -> list[dict]:
    return [batch for _, batch in zip(range(count), batches, strict=False)]


def same(one: list[dict], other: list[dict]) -> bool:
    return len(one) == len(other) and all(
        a.keys() == b.keys() and all(np.array_equal(a[name], b[name]) for name in a)
        for a, b in zip(one, other, strict=True)
    )


def test_a_restarted_stream_is_the_tail_of_the_whole_one(folder_of: Callable, sharded: Callable) -> None:
    """13 images in batches of 5: the steps cross epochs in their middle."""
    folder = folder_of(random_rectangles(13), ".jpg")
    of_folder = dataset_columns.columns_of(folder)
    whole = first(9, Stream(of_folder, SMALL, threads=1).batches())
    for k, threads in ((1, 4), (4, 1), (8, 2)):
        assert same(first(9 - k, Stream(of_folder, SMALL, threads=threads).batches(k)), whole[k:])
    of_shards = dataset_columns.columns_of(sharded(folder, 3))
    assert (of_shards.offsets > 0).all()
    from_shards = Stream(of_shards, SMALL, threads=4)
    assert same(first(9, from_shards.batches()), whole)
    assert same(first(2, from_shards.batches(7)), whole[7:])
    assert not same(first(1, Stream(of_folder, Feed(**{**vars_of(SMALL), "seed": 8})).batches()), whole[:1])


def vars_of(feed: Feed) -> dict:
    return {name: getattr(feed, name) for name in Feed.__slots__}


def test_every_image_once_an_epoch_and_the_boxes_with_it(folder_of: Callable) -> None:
    data = dataset_columns.columns_of(folder_of(random_rectangles(12)))
    stream = Stream(data, Feed(height=64, width=64, batch=4, seed=1))
    seen = np.concatenate([batch["image"] for batch in first(6, stream.batches())])
    assert sorted(seen[:12]) == sorted(seen[12:]) == list(range(12))
    assert seen[:12].tolist() != seen[12:].tolist()
    assert seen.tolist() == order.image_at(np.arange(24), images=12, seed=1).tolist()


def test_processes_share_a_batch_without_overlap(folder_of: Callable) -> None:
    data = dataset_columns.columns_of(folder_of(random_rectangles(12)))
    whole = Stream(data, Feed(height=32, width=32, batch=4, seed=5))
    parts = [Stream(data, Feed(height=32, width=32, batch=2, seed=5, part=part, parts=2)) for part in (0, 1)]
    for step, batch in enumerate(first(3, whole.batches())):
        halves = [next(part.batches(step)) for part in parts]
        for name in batch:
            assert np.array_equal(np.concatenate([half[name] for half in halves]), batch[name]), name


def test_one_epoch_in_order_fills_its_last_batch_and_says_so(folder_of: Callable) -> None:
    data = dataset_columns.columns_of(folder_of(random_rectangles(7)))
    stream = Stream(data, Feed(height=32, width=32, batch=3, shuffle=False, endless=False))
    batches = list(stream.batches())
    assert stream.steps == len(batches) == 3
    assert [batch["image"].tolist() for batch in batches] == [[0, 1, 2], [3, 4, 5], [6, 6, 6]]
    assert batches[2]["in_epoch"].tolist() == [True, False, False]


def test_the_mapping_leads_back_to_the_source(folder_of: Callable) -> None:
    """A 200x100 image in a 100x100 image: half the size, 25 pixels of grey above."""
    data = dataset_columns.columns_of(folder_of([(200, 100, (20, 40, 60, 90), "red")]))
    batch = next(Stream(data, Feed(height=100, width=100, batch=1)).batches())
    assert batch["mapping"][0].tolist() == [0.5, 0.5, 0.0, 25.0]
    assert batch["boxes"][0, 0].tolist() == [10.0, 45.0, 30.0, 70.0]
    assert (batch["images"][0, :25] == 114).all() and (batch["images"][0, 75:] == 114).all()
    stretched = next(Stream(data, Feed(height=100, width=100, batch=1, fit="stretch")).batches())
    assert stretched["mapping"][0].tolist() == [0.5, 1.0, 0.0, 0.0]
    assert stretched["boxes"][0, 0].tolist() == [10.0, 40.0, 30.0, 90.0]


def test_more_boxes_than_places_keeps_the_largest_and_counts_the_rest(folder_of: Callable) -> None:
    made = folder_of([(100, 100, (0, 0, 50, 50), "red")])
    boxes = tuple(Box(0, 0, side, side, "red") for side in (10, 40, 20, 30, 50))
    record = made.records[0]
    crowded = dataset_of([Record(record.id, record.file_name, record.image, boxes)])
    stream = Stream(dataset_columns.columns_of(crowded), Feed(height=100, width=100, batch=1, max_boxes=3))
    batch = next(stream.batches())
    assert batch["boxes"][0, :, 2].tolist() == [50.0, 40.0, 30.0]
    assert batch["boxes_left_out"].tolist() == [2]
    assert Stream(dataset_columns.columns_of(crowded), Feed(height=100, width=100, batch=1)).max_boxes == 5


def test_a_dataset_without_any_box_is_padding_only(folder_of: Callable) -> None:
    made = folder_of(random_rectangles(3))
    empty = dataset_of([Record(record.id, record.file_name, record.image) for record in made.records])
    batch = next(
        Stream(
            dataset_columns.columns_of(empty), Feed(height=32, width=32, batch=3, augment=EVERYTHING)
        ).batches()
    )
    assert not batch["real"].any() and (batch["boxes"] == 0).all()


@pytest.mark.parametrize("kind", ["encoded", "decoded"])
def test_kept_images_are_read_once_and_give_the_same_batches(
    kind: str, folder_of: Callable, tmp_path: Path
) -> None:
    """After an epoch the files are deleted; the batches go on, and are those of a stream that reads them."""
    data = dataset_columns.columns_of(folder_of(random_rectangles(8, sides=(200, 260)), ".jpg"))
    plain = Feed(height=96, width=96, batch=4, augment=Augment(flip=0.5))
    expected = first(6, Stream(data, plain).batches())
    stream = Stream(data, plain, cache=ImageCache(kind))
    batches = stream.batches()
    found = first(2, batches)
    list(zip(range(2), batches, strict=False))  # what was under way when the epoch ended
    for path in data.paths:
        Path(path).unlink()
    assert same(found + first(4, stream.batches(2)), expected)


# -- bad images -------------------------------------------------------------------------------------


def cut_short(data: dataset_columns.Columns, row: int) -> None:
    path = Path(data.paths[row])
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 2 // 3])


def test_a_bad_image_stops_the_stream_and_is_named(folder_of: Callable) -> None:
    data = dataset_columns.columns_of(folder_of(random_rectangles(8), ".jpg"))
    cut_short(data, 3)
    stream = Stream(data, Feed(height=64, width=64, batch=4, seed=2))
    with pytest.raises(UndecodableImage) as caught:
        first(2, stream.batches())
    assert "0003.jpg" in caught.value.what
    assert caught.value.found[-1] == "1 bad so far, 0 may be skipped"


def test_so_many_are_skipped_and_each_is_told(folder_of: Callable) -> None:
    data = dataset_columns.columns_of(folder_of(random_rectangles(8), ".jpg"))
    good = first(4, Stream(data, Feed(height=64, width=64, batch=4, seed=2)).batches())
    cut_short(data, 3)
    cut_short(data, 4)
    told: list[BadImage] = []
    stream = Stream(data, Feed(height=64, width=64, batch=4, seed=2), skip_bad=2, on_bad=told.append)
    found = first(4, stream.batches())
    assert sorted(bad.image for bad in told) == [3, 4]
    assert {bad.skipped for bad in told} == {1, 2} and {bad.allowed for bad in told} == {2}
    for ours, theirs in zip(found, good, strict=True):
        assert np.array_equal(ours["image"], theirs["image"])
        for at, image in enumerate(ours["image"]):
            if image in (3, 4):  # the next good image stands in
                assert not np.array_equal(ours["images"][at], theirs["images"][at])
            else:
                assert np.array_equal(ours["images"][at], theirs["images"][at])
    restarted = Stream(data, Feed(height=64, width=64, batch=4, seed=2), skip_bad=2)
    assert same(first(2, restarted.batches(2)), found[2:])


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"not an image", "unreadable-image: no image format begins with b'not an i'"),
        (b"", "unreadable-image: the file is empty: 0 bytes"),
        (None, "missing-image: there is no such file"),
    ],
)
def test_an_image_without_a_header_stops_before_the_first_step(
    folder_of: Callable, content: bytes | None, why: str
) -> None:
    made = folder_of(random_rectangles(3), ".jpg")
    path = Path(made.records[1].image.path)
    path.unlink() if content is None else path.write_bytes(content)
    with pytest.raises(UndecodableImage, match=r"0001\.jpg") as caught:
        Stream(dataset_columns.columns_of(made), SMALL)
    assert caught.value.found[0].startswith(why)


def test_no_images_is_an_error() -> None:
    with pytest.raises(DataError, match="no images"):
        Stream(dataset_columns.columns_of(dataset_of([])), SMALL)


# -- the columns --------------------------------------------------------------------------------------


def test_boxes_that_cannot_be_trained_on_are_left_out_and_named(folder_of: Callable) -> None:
    record = folder_of([(100, 80, (0, 0, 10, 10), "red")]).records[0]
    boxes = (
        Box(-5, 10, 200, 40, "red"), Box(10, 10, 10, 40, "red"), Box(float("nan"), 0, 5, 5, "red"),
        Box(300, 300, 400, 400, "red"), Box(0, 0, 5, 5, "dog"),
    )  # fmt: skip
    data = dataset_columns.columns_of(dataset_of([Record(record.id, record.file_name, record.image, boxes)]))
    assert data.boxes.tolist() == [[0.0, 10.0, 100.0, 40.0]]
    why = [left.detail.split(": ")[1] for left in data.left_out]
    assert why == [
        "no area, or inverted", "not finite", "outside the image of 100x80",
        "class 'dog' is not in the list of classes",
    ]  # fmt: skip


def test_boxes_in_the_stored_frame_are_turned_with_the_image(folder_of: Callable) -> None:
    """Stored 100x60 and turned by 6: upright 60x100. The declared size says in which frame the boxes are."""
    made = folder_of([(60, 100, (10, 20, 30, 50), "blue")], ".jpg", orientation=6)
    record = made.records[0]
    upright = dataset_columns.columns_of(made)
    # Upright (x, y) is stored (y, 60 - x).
    stored = Record(
        record.id,
        record.file_name,
        ImageRef(record.image.path, width=100, height=60),
        (Box(20, 30, 50, 50, "blue"),),
    )
    turned = dataset_columns.columns_of(dataset_of([stored]))
    assert upright.boxes.tolist() == turned.boxes.tolist() == [[10.0, 20.0, 30.0, 50.0]]


def test_settings_out_of_range_are_refused() -> None:
    from holdfast.errors import OutOfRange

    with pytest.raises(OutOfRange, match="flip is outside"):
        Augment(flip=1.5)
    with pytest.raises(OutOfRange, match="batch is outside"):
        Feed(height=8, width=8, batch=0)
    assert feed.STRONG.zoom_most == pytest.approx(1 / 0.3)
    assert len(NAMES) == 6
