"""Images inside a JSON file, as base64: labelme's imageData."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace

from holdfast.data.files import filesystem, text_encoding
from holdfast.data.images.facts_cache import cache_folder
from holdfast.data.images.image_file import header_of
from holdfast.data.images.image_rules import right_suffix
from holdfast.data.records import Dataset, ImageRef
from holdfast.errors import HoldfastError, UnreadableAnnotation


def decode_image(document: bytes, key: str, path: str) -> bytes:
    """The encoded image under `key` of a JSON document."""
    try:
        text = json.loads(text_encoding.text(document))[key]
        return base64.b64decode(re.sub(r"^data:[^,]*,", "", text))
    except (ValueError, KeyError, TypeError, RecursionError):
        raise UnreadableAnnotation(f"its {key} is not an image in base64", where=path) from None


def as_files(dataset: Dataset) -> Dataset:
    """The dataset with such images in files of the cache folder, for whatever reads files only.

    A file is called by its content, so that every run finds the same one. What cannot be read stays as it is.
    """
    if not any(record.picture.inside for record in dataset.records):
        return dataset
    records = tuple(replace(record, picture=_as_file(record.picture)) for record in dataset.records)
    return replace(dataset, records=records)


def _as_file(picture: ImageRef) -> ImageRef:
    if not picture.inside:
        return picture
    try:
        data = picture.read()
    except HoldfastError:
        return picture
    facts = header_of(data)
    if facts is None:
        return picture
    name = hashlib.sha256(data).hexdigest()[:32] + right_suffix(facts.format)
    path = str(cache_folder() / "embedded" / name)
    if not filesystem.exists(path):
        filesystem.write_bytes(path, data)
    return replace(picture, path=path, inside="")
