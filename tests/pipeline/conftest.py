"""Datasets of images whose truth is known, as folders and as shards."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.pipeline.rectangles import dataset_of, rectangle_image, save

from holdfast.data.files.tfrecord_framing import framed
from holdfast.data.records import Box, Dataset, ImageRef, Record


@pytest.fixture
def folder_of(tmp_path: Path) -> Callable[..., Dataset]:
    """A folder of images, one rectangle each."""

    def make(
        rectangles: list[tuple], suffix: str = ".png", orientation: int = 1, name: str = "folder"
    ) -> Dataset:
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        records = []
        for number, (width, height, box, colour) in enumerate(rectangles):
            path = folder / f"{number:04d}{suffix}"
            save(path, rectangle_image(width, height, box, colour), orientation)
            image = ImageRef(str(path), width=width, height=height)
            records.append(Record(str(number), path.name, image, (Box(*box, colour),)))
        return dataset_of(records)

    return make


@pytest.fixture
def sharded(tmp_path: Path) -> Callable[[Dataset, int], Dataset]:
    """The same images inside TFRecord shards, at random access."""

    def make(dataset: Dataset, shards: int) -> Dataset:
        records = []
        for shard in range(shards):
            path = tmp_path / f"data-{shard:05d}-of-{shards:05d}.tfrecord"
            written = b""
            for record in dataset.records[shard::shards]:
                encoded = record.image.read()
                # The framing's header is 12 bytes; the image stands a few bytes into the record.
                offset = len(written) + 12 + 7
                written += framed(b"before:" + encoded + b":after")
                image = ImageRef(str(path), offset, len(encoded), record.image.width, record.image.height)
                records.append(Record(record.id, record.file_name, image, record.boxes))
            path.write_bytes(written)
        records.sort(key=lambda record: int(record.id))
        return dataset_of(records)

    return make
