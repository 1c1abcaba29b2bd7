"""Images that are sent as decoded and resized by the compiled step: the images are those that the host would make."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from tests.pipeline.rectangles import dataset_of, save
from tests.pipeline.test_stream import EVERYTHING, first, same
from tests.waiting import PATIENCE_S

from holdfast.data.records import Box, Dataset, ImageRef, Record
from holdfast.errors import OutOfRange
from holdfast.pipeline import dataset_columns, device_transforms, image_sizes, pack, packing
from holdfast.pipeline.feed import LIGHT, PLAIN, STRONG, Augment, Feed, ResizeMode
from holdfast.pipeline.image_cache import ImageCache
from holdfast.pipeline.stream import Stream

pytestmark = [pytest.mark.hot, pytest.mark.long(35)]

FEED = Feed(height=96, width=128, batch=6, seed=3)
CASES: tuple[tuple[Augment, ResizeMode], ...] = (
    (PLAIN, "letterbox"),
    (PLAIN, "stretch"),
    (Augment(flip=0.5, scale=(0.5, 2.0)), "letterbox"),
    (Augment(crop=1.0, expand=0.5), "stretch"),
    (EVERYTHING, "letterbox"),
)


def photograph(width: int, height: int, seed: int) -> np.ndarray:
    """Noise in octaves, coarse and fine, as a photograph has it."""
    rng = np.random.default_rng(seed)
    total = np.full((height, width, 3), 120.0)
    for cells, strength in ((3, 60), (12, 40), (50, 25), (200, 15)):
        for channel in range(3):
            coarse = Image.fromarray(rng.normal(0, 1, (cells, cells)).astype(np.float32))
            total[..., channel] += strength * np.asarray(
                coarse.resize((width, height), Image.Resampling.BICUBIC)
            )
    return np.clip(total, 0, 255).astype(np.uint8)


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """Wide and high, small and large, JPEG and PNG, in every orientation of EXIF."""
    folder = tmp_path_factory.mktemp("pictures")
    records = []
    upright = [(150, 110), (90, 200), (230, 170), (60, 45), (500, 375), (128, 96), (700, 900), (201, 133)]
    for number, (width, height) in enumerate(upright + upright):
        path = folder / f"{number}{'.jpg' if number % 3 else '.png'}"
        save(path, photograph(width, height, number), 1 + number % 8)
        box = Box(width * 0.2, height * 0.3, width * 0.7, height * 0.8, "red")
        # The boxes are those of the upright image, which a declared size of that frame says.
        records.append(
            Record(str(number), path.name, ImageRef(str(path), width=width, height=height), (box,))
        )
    return dataset_of(records)


def images_of(batch: dict[str, Any], feed: Feed) -> np.ndarray:
    return np.asarray(
        device_transforms.resized(batch["pixels"], batch["view"], feed.height, feed.width, feed.fill)
    )


def compared(data: dataset_columns.Columns, feed: Feed, steps: int = 3, **how: Any) -> np.ndarray:
    """Whether each image was left to the step, after the batches were compared with those resized on the host."""
    feed = replace(feed, sent_pixels=image_sizes.sent_pixels(data, feed))
    here = first(steps, Stream(data, replace(feed, sent_pixels=None), **how).batches())
    there = first(steps, Stream(data, feed, **how).batches())
    for one, other in zip(here, there, strict=True):
        assert one.keys() - other.keys() == {"images"}
        assert other.keys() - one.keys() == {"pixels", "view", "resized_by_step"}
        assert all(np.array_equal(one[name], other[name]) for name in one if name != "images")
        off = np.abs(images_of(other, feed).astype(int) - one["images"])
        assert off.max() <= 1
        assert (off > 0).mean() < 0.1, "the same but for rounding: OpenCV's weights have eleven bits"
    return np.concatenate([batch["resized_by_step"] for batch in there])


@pytest.mark.parametrize(("augment", "fit"), CASES)
def test_the_images_are_those_that_the_host_makes(images: Dataset, augment: Augment, fit: ResizeMode) -> None:
    sent = compared(dataset_columns.columns_of(images), replace(FEED, augment=augment, fit=fit))
    assert sent.mean() > (0.1 if augment.mosaic else 0.4)
    assert not sent.all(), (
        "large PNGs, which are not decoded at a fraction, and mosaics are resized on the host"
    )


def test_images_kept_decoded_and_packed_copies(images: Dataset, tmp_path: Path) -> None:
    data, feed = dataset_columns.columns_of(images), replace(FEED, augment=LIGHT)
    compared(data, feed, cache=ImageCache("decoded"), steps=5)
    made = packing.make_pack(pack.plan_pack(data, feed, 1 << 40), tmp_path)
    packed = pack.read(made, from_epoch=1)
    assert packed is not None
    sent = compared(data, feed, packed=packed, steps=6)
    assert sent[16:].mean() >= sent[:16].mean(), "copies are no larger than their images"


def test_a_restarted_stream_is_the_tail_of_the_whole_one(images: Dataset) -> None:
    data = dataset_columns.columns_of(images)
    feed = replace(FEED, augment=STRONG, sent_pixels=20_000)
    whole = first(5, Stream(data, feed, threads=1).batches())
    assert same(first(2, Stream(data, feed, threads=4).batches(3)), whole[3:])


def test_the_other_backend_makes_the_same_images(images: Dataset, tmp_path: Path) -> None:
    """In a process of its own, since Keras has one backend a process."""
    pytest.importorskip("tensorflow")
    data = dataset_columns.columns_of(images)
    feed = replace(FEED, augment=EVERYTHING)
    feed = replace(feed, sent_pixels=image_sizes.sent_pixels(data, feed))
    batch = first(1, Stream(data, feed).batches())[0]
    np.savez(tmp_path / "sent.npz", pixels=batch["pixels"], view=batch["view"])
    program = (
        "import sys, numpy as np\nfrom holdfast.pipeline import device_transforms\n"
        "sent = np.load(sys.argv[1])\n"
        "made = device_transforms.resized(sent['pixels'], sent['view'], 96, 128)\n"
        "np.save(sys.argv[2], np.asarray(made))"
    )
    import keras

    other = {"tensorflow": "jax", "jax": "tensorflow"}[keras.backend.backend()]
    subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "sent.npz"), str(tmp_path / "made.npy")],
        env={**os.environ, "KERAS_BACKEND": other, "JAX_PLATFORMS": "cpu"}, check=True, timeout=3 * PATIENCE_S,
    )  # fmt: skip
    off = np.abs(np.load(tmp_path / "made.npy").astype(int) - images_of(batch, feed))
    assert off.max() <= 1
    assert (off > 0).mean() < 1e-3


def test_by_hand() -> None:
    """Two grey pixels, 40 and 80, drawn four wide: half-pixel centres give 40, 50, 70, 80; grey 114 beside them."""
    pixels = np.zeros((3, 4, 3), np.uint8)
    pixels[:, 0], pixels[:, 1] = 40, 80
    view = np.array(
        [
            [1, 2, 0, 2, 1, 1, 4, 1, 1],  # in the second row, one from the left
            [1, 2, 1, 2, -1, 1, 4, 0, 0],  # mirrored
            [2, 1, 0, 1, 2, 3, 1, 0, 5],  # turned: one below the other, drawn three high
        ],
        np.int32,
    )
    made = np.asarray(device_transforms.resized(pixels, view, 3, 6))
    assert (made == made[..., :1]).all()
    assert made[0, ..., 0].tolist() == [[114] * 6, [114, 40, 50, 70, 80, 114], [114] * 6]
    assert made[1, ..., 0].tolist() == [[80, 70, 50, 40, 114, 114], [114] * 6, [114] * 6]
    assert made[2, :, 5, 0].tolist() == [40, 60, 80]
    assert (made[2, :, :5] == 114).all()


def made_of(*upright: tuple[int, int], codec: int = dataset_columns.JPEG) -> Any:
    """Columns of images of these sizes, as far as sizes go."""
    from types import SimpleNamespace

    stored = np.array(upright, np.int32)
    return SimpleNamespace(sizes=stored, stored_sizes=stored, codecs=np.full(len(stored), codec))


def test_how_many_pixels_are_sent() -> None:
    feed = Feed(height=512, width=512, batch=1)
    small = made_of((816, 612), (612, 816))
    assert image_sizes.sent_pixels(small, feed) == 488 * 1024  # 816 x 612, up to a multiple of 1024
    assert image_sizes.sent_pixels(made_of((300, 200)), feed) == 512 * 512, (
        "a mosaic or a large PNG is sent as an image"
    )
    large = made_of((4000, 3000))
    # Always at 1/8: 500 x 375, or its packed copy of 512 x 384.
    assert set(image_sizes.windows_sent(large, feed).ravel().tolist()) == {512.0 * 384}
    # Enlarged by 1.016 or more it is decoded at 1/4: of the 17 enlargements the first such is 1.0321, 969 x 727.
    light = replace(feed, augment=LIGHT)
    assert image_sizes.windows_sent(large, light).max() == 969 * 727
    assert image_sizes.sent_pixels(large, light) == 688 * 1024
    assert image_sizes.worth_sending(large, light)


def test_what_is_not_worth_sending() -> None:
    feed = Feed(height=512, width=512, batch=1)
    pngs = made_of(*[(1300, 1000)] * 3, (600, 400), codec=dataset_columns.PNG)
    stretched = replace(feed, fit="stretch", augment=Augment(scale=(0.5, 0.6)))
    assert not image_sizes.worth_sending(pngs, stretched), "drawn at less than half: averaged"
    assert not image_sizes.worth_sending(made_of((600, 400)), replace(feed, batch=4096)), (
        "more pixels than can be numbered"
    )
    rare = made_of(*[(600, 480)] * 30, (1000, 1000), codec=dataset_columns.PNG)
    assert image_sizes.worth_sending(rare, feed)
    assert image_sizes.sent_pixels(rare, feed) == 282 * 1024, (
        "room for the one large image is not carried by all"
    )


def test_fewer_pixels_than_the_image_has_are_refused() -> None:
    with pytest.raises(OutOfRange, match="sent_pixels"):
        replace(FEED, sent_pixels=100)
