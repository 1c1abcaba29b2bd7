"""One image alone is shown as a validation stream shows it."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tests.data import made
from tests.pipeline.rectangles import dataset_of, save
from tests.pipeline.test_image_kinds import kinds

from holdfast.data.records import Box, ImageRef, Record
from holdfast.detectors.anchors.letterbox import InputMapping, map_to_input
from holdfast.pipeline import batch_plan, dataset_columns
from holdfast.pipeline.decode import Undecodable
from holdfast.pipeline.feed import Feed, ResizeMode
from holdfast.pipeline.stream import Stream
from holdfast.pipeline.validation_image import ImagePreparer

pytestmark = pytest.mark.hot

HEIGHT, WIDTH = 96, 128


def turned_and_sized(folder: Path) -> list[Path]:
    rng = np.random.default_rng(0)
    paths = []
    for orientation, size in zip(range(1, 9), rng.integers(40, 1200, (8, 2)), strict=True):
        small = rng.integers(0, 256, (5, 7, 3)).astype(np.uint8)
        image = np.asarray(Image.fromarray(small).resize(tuple(size), Image.Resampling.BICUBIC))
        paths.append(folder / f"turned-{orientation}.{'png' if orientation % 3 == 0 else 'jpg'}")
        save(paths[-1], image, orientation)
    return paths


@pytest.mark.parametrize("fit", ["stretch", "letterbox"])
def test_pixels_and_mapping_are_those_of_a_stream(fit: ResizeMode, tmp_path: Path) -> None:
    paths = kinds(tmp_path) + turned_and_sized(tmp_path)
    data = dataset_columns.columns_of(
        dataset_of([Record(path.name, path.name, ImageRef(str(path))) for path in paths])
    )
    feed = Feed(HEIGHT, WIDTH, len(paths), shuffle=False, endless=False, fit=fit)
    (batch,) = Stream(data, feed).batches()
    whole = ImagePreparer(HEIGHT, WIDTH, fit)
    for row, path in enumerate(paths):
        shown = whole(path.read_bytes())
        np.testing.assert_array_equal(shown.pixels, batch["images"][row], err_msg=path.name)
        np.testing.assert_array_equal(shown.mapping, batch["mapping"][row], err_msg=path.name)
        assert shown.facts.upright_size == tuple(data.sizes[row])


@pytest.mark.parametrize("fit", ["stretch", "letterbox"])
def test_the_arithmetic_without_pixels_is_the_same(fit: ResizeMode) -> None:
    feed, one = Feed(HEIGHT, WIDTH, 1, fit=fit), np.int32(1)
    rng = np.random.default_rng(1)
    for size in [(1, 1), (1, 3000), (3000, 1), *rng.integers(1, 5000, (60, 2)).tolist()]:
        ours = map_to_input((size[0], size[1]), (HEIGHT, WIDTH), fit)
        theirs = InputMapping.of_mapping(
            batch_plan.whole_image_instructions(np.array(size, np.float32), one, one, feed)[1]
        )
        np.testing.assert_allclose([*ours.scale, *ours.shift], [*theirs.scale, *theirs.shift], rtol=1e-6)


def test_a_kind_that_training_does_not_decode_is_shown_without_loss(tmp_path: Path) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (HEIGHT, WIDTH, 3)).astype(np.uint8)
    Image.fromarray(pixels).save(tmp_path / "a.tiff")
    shown = ImagePreparer(HEIGHT, WIDTH, "stretch")((tmp_path / "a.tiff").read_bytes())
    np.testing.assert_array_equal(shown.pixels, pixels)


@pytest.mark.parametrize("kind", made.odd_images())
def test_odd_kinds_are_shown_as_pillow_sees_them(kind: str) -> None:
    data = made.odd_images()[kind]
    with Image.open(BytesIO(data)) as image:
        pixels = np.asarray(image.convert("RGB"))
    shown = ImagePreparer(*pixels.shape[:2], "stretch")(data)
    np.testing.assert_array_equal(shown.pixels, pixels)
    assert (
        dataset_columns.from_facts(dataset_of([Record("a", "a", ImageRef("a"))]), [shown.facts]).unreadable
        == {}
    )


@pytest.mark.parametrize(
    ("format", "mode"), [("PNG", "I;16"), ("TIFF", "I;16"), ("TIFF", "I;16B"), ("PPM", "I;16")]
)
def test_sixteen_bits_are_shown_by_their_high_byte_in_every_format(format: str, mode: str) -> None:
    shown = ImagePreparer(48, 64, "stretch")(made.sixteen_bits(format=format, mode=mode))
    np.testing.assert_array_equal(shown.pixels, np.asarray(made.high_bytes()))


@pytest.mark.parametrize("orientation", range(1, 9))
def test_a_tiff_is_turned_once_and_its_boxes_stay_on_their_pixels(orientation: int) -> None:
    data = made.turned_tiff(64, 48, orientation)
    with Image.open(BytesIO(data)) as image:
        image.load()  # Pillow turns it here
        pixels = np.asarray(image)
    height, width = pixels.shape[:2]
    shown = ImagePreparer(height, width, "stretch")(data)
    np.testing.assert_array_equal(shown.pixels, pixels)
    assert (shown.facts.size, shown.facts.orientation) == ((width, height), 1)
    ys, xs = np.nonzero(pixels[:, :, 2])
    blue = float(xs.min()), float(ys.min()), float(xs.max()) + 1, float(ys.max()) + 1
    record = Record("a", "a.tif", ImageRef("a.tif", width=width, height=height), (Box(*blue, "blue"),))
    assert dataset_columns.from_facts(dataset_of([record]), [shown.facts]).boxes.tolist() == [list(blue)]


@pytest.mark.parametrize("frame", ["stored", "upright"])
def test_a_turned_webp_with_alpha_is_turned_and_its_frame_is_still_found(frame: str) -> None:
    stored = Image.new("RGBA", (64, 48), (200, 0, 0, 90))
    stored.paste((0, 0, 255, 90), (40, 30, 62, 46))
    exif = Image.Exif()
    exif[0x0112] = 6
    made_webp = BytesIO()
    stored.save(made_webp, "WEBP", lossless=True, exif=exif)
    shown = ImagePreparer(64, 48, "stretch")(made_webp.getvalue())
    expected = np.asarray(stored.convert("RGB").transpose(Image.Transpose.ROTATE_270))
    np.testing.assert_array_equal(shown.pixels, expected)
    box = (40, 30, 62, 46) if frame == "stored" else (2, 40, 18, 62)
    record = Record("a", "a.webp", ImageRef("a.webp"), (Box(*box, "blue"),))
    assert dataset_columns.from_facts(dataset_of([record]), [shown.facts]).boxes.tolist() == [[2, 40, 18, 62]]


def test_what_is_no_whole_image_says_why(tmp_path: Path) -> None:
    whole = ImagePreparer(HEIGHT, WIDTH, "stretch")
    Image.effect_noise((300, 200), 50).convert("RGB").save(tmp_path / "a.jpg")
    half = (tmp_path / "a.jpg").read_bytes()
    Image.effect_noise((300, 200), 50).save(tmp_path / "a.tiff", compression="tiff_lzw")
    for encoded, why in (
        (half[: len(half) // 2], "truncated"),
        (b"", "the file is empty: 0 bytes"),
        (b"nothing here", "no image format begins with b'nothing '"),
        (b"<!DOCTYPE html>", "this is a web page"),
        ((tmp_path / "a.tiff").read_bytes()[:-3000], "."),
    ):
        with pytest.raises(Undecodable, match=why):
            whole(encoded)
