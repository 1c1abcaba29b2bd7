"""Every kind of image that the columns accept is decoded, to the colours that Pillow sees."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tests.data import made
from tests.pipeline.rectangles import dataset_of, rectangle_image

from holdfast.data.images.image_file import FORMATS, ImageFacts, unsupported_kind
from holdfast.data.records import Box, ImageRef, Record
from holdfast.pipeline import dataset_columns
from holdfast.pipeline.feed import Feed
from holdfast.pipeline.stream import Stream

pytestmark = pytest.mark.hot

BOX = (20, 10, 60, 50)


def kinds(folder: Path) -> list[Path]:
    upright = Image.fromarray(rectangle_image(96, 96, BOX, "yellow"))
    sixteen = np.asarray(upright.convert("L")).astype(np.uint16) * 257
    made = {
        "rgb.jpg": upright, "grey.jpg": upright.convert("L"), "cmyk.jpg": upright.convert("CMYK"),
        "progressive.jpg": upright, "rgb.png": upright, "grey.png": upright.convert("L"),
        "palette.png": upright.quantize(8), "alpha.png": upright.convert("RGBA"),
        "sixteen.png": Image.fromarray(sixteen), "named-wrongly.jpg": upright, "one-bit.png": upright.convert("1"),
        "rgb.bmp": upright, "grey.bmp": upright.convert("L"), "alpha.bmp": upright.convert("RGBA"),
        "still.gif": upright.quantize(8), "lossy.webp": upright,
    }  # fmt: skip
    paths = []
    for name, image in made.items():
        options: dict = {"quality": 95} if name.endswith((".jpg", ".webp")) else {}
        format = "PNG" if name == "named-wrongly.jpg" else None
        image.save(folder / name, format=format, progressive=name.startswith("prog"), **options)
        paths.append(folder / name)
    return paths


def test_all_kinds_are_decoded_as_pillow_decodes_them(tmp_path: Path) -> None:
    paths = kinds(tmp_path)
    records = [Record(path.name, path.name, ImageRef(str(path)), (Box(*BOX, "yellow"),)) for path in paths]
    data = dataset_columns.columns_of(dataset_of(records))
    assert data.unreadable == {}
    stream = Stream(data, Feed(height=96, width=96, batch=len(paths), shuffle=False))
    (batch,) = [batch for _, batch in zip(range(1), stream.batches(), strict=False)]
    for path, image in zip(paths, batch["images"], strict=True):
        if path.name == "sixteen.png":
            expected = np.asarray(Image.open(tmp_path / "grey.png").convert("RGB"))
        else:
            expected = np.asarray(Image.open(path).convert("RGB"))
        difference = np.abs(image.astype(int) - expected.astype(int))
        assert difference.mean() < 3, (path.name, difference.mean())


@pytest.mark.parametrize("kind", made.odd_images())
def test_a_kind_that_is_not_decoded_is_said_so(kind: str, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(made.odd_images()[kind])
    data = dataset_columns.columns_of(dataset_of([Record("a", "a", ImageRef(str(tmp_path / "a")))]))
    assert data.unreadable == {
        0: f"{kind} images are not decoded while training; `holdfast data repair` writes them as PNG"
    }


def test_every_other_format_has_a_decoder() -> None:
    odd = {format for format in FORMATS if unsupported_kind(ImageFacts(format=format, mode="RGB"))}
    assert set(dataset_columns.CODECS) == set(FORMATS) - odd and odd == {"TIFF", "PPM"}
