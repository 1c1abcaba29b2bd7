"""Images inside JSON and Parquet files, written to files of the cache folder for whatever reads files only."""

from __future__ import annotations

import hashlib
from dataclasses import replace

from holdfast.data.files import filesystem
from holdfast.data.images.image_file import header_of
from holdfast.data.images.image_rules import right_suffix
from holdfast.data.records import Dataset, ImageRef
from holdfast.errors import HoldfastError
from holdfast.host.cache_folder import cache_folder


def as_files(dataset: Dataset) -> Dataset:
    """The dataset with images that were inside other files in files of the cache folder.

    A file is called by its content, so that every run finds the same one. What cannot be read stays as it is.
    """
    if not any(record.image.inside for record in dataset.records):
        return dataset
    return dataset.with_records(replace(record, image=_as_file(record.image)) for record in dataset.records)


def _as_file(image: ImageRef) -> ImageRef:
    if not image.inside:
        return image
    try:
        data = image.read()
    except HoldfastError:
        return image
    facts = header_of(data)
    if facts is None:
        return image
    name = hashlib.sha256(data).hexdigest()[:32] + right_suffix(facts.format)
    path = str(cache_folder() / "embedded" / name)
    if not filesystem.exists(path):
        filesystem.write_bytes(path, data)
    return replace(image, path=path, inside="")
