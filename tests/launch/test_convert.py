"""Shards written by several processes are those that one process writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.data.writing.convert import ConvertOptions, convert
from holdfast.errors import DataError
from tests.train import shapes

pytestmark = pytest.mark.hot  # needs numpy and pillow


def test_several_processes_write_the_same_shards(tmp_path: Path) -> None:
    source = str(shapes.write(tmp_path / "shapes", 9, side=48))
    for count in (1, 2):
        convert(
            source,
            str(tmp_path / f"by-{count}"),
            "tfrecord",
            options=ConvertOptions(shards=4, processes=count),
        )
    one, two = (sorted((tmp_path / f"by-{count}").iterdir()) for count in (1, 2))
    assert [path.name for path in one] == [path.name for path in two]
    assert sum(path.suffix == ".tfrecord" for path in one) == 4
    assert [path.read_bytes() for path in one] == [path.read_bytes() for path in two]


def test_what_goes_wrong_in_a_process_is_told_as_by_one(tmp_path: Path) -> None:
    source = shapes.write(tmp_path / "shapes", 6, side=48)
    text = (source / "annotations.json").read_text().replace('"width": 48, "height": 48', '"license": 0')
    (source / "annotations.json").write_text(text)
    (source / "images/0004.png").write_bytes(b"\x89PNG\r\n\x1a\n, and cut")  # begins as an image, and is none
    with pytest.raises(DataError, match="the image cannot be read") as found:
        convert(str(source), str(tmp_path / "out"), "tfrecord", options=ConvertOptions(shards=3, processes=2))
    assert found.value.where.endswith("0004.png")
