"""The data formats that are read, one module each: how to recognise a format and how to read it.

This table is all that the command line and `data/reading/detect_format.py` know of the formats. The modules
are imported when a folder is opened, so that the names are cheap to list.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.data.dataset_reader import Source
    from holdfast.data.files.file_index import FileIndex


def _coco(listing: FileIndex, label_maps: list[str]) -> Source | None:
    from holdfast.data.formats import coco

    return coco.open_folder(listing)


def _voc(listing: FileIndex, label_maps: list[str]) -> Source | None:
    from holdfast.data.formats import voc

    return voc.open_folder(listing, label_maps)


def _labelme(listing: FileIndex, label_maps: list[str]) -> Source | None:
    from holdfast.data.formats import labelme

    return labelme.open_source(listing)


def _yolo(listing: FileIndex, label_maps: list[str]) -> Source | None:
    from holdfast.data.formats import yolo

    return yolo.open_folder(listing)


def _tfrecord(listing: FileIndex, label_maps: list[str]) -> Source | None:
    from holdfast.data.formats import tfrecord

    return tfrecord.open_folder(listing, label_maps)


def _csv(listing: FileIndex, label_maps: list[str]) -> Source | None:
    from holdfast.data.formats import csv

    return csv.open_folder(listing)


def _open_images(listing: FileIndex, label_maps: list[str]) -> Source | None:
    from holdfast.data.formats import open_images

    return open_images.open_folder(listing)


def _cvat(listing: FileIndex, label_maps: list[str]) -> Source | None:
    from holdfast.data.formats import cvat

    return cvat.FORMAT.open_folder(listing)


def _label_studio(listing: FileIndex, label_maps: list[str]) -> Source | None:
    from holdfast.data.formats import label_studio

    return label_studio.FORMAT.open_folder(listing)


def _via(listing: FileIndex, label_maps: list[str]) -> Source | None:
    from holdfast.data.formats import via

    return via.FORMAT.open_folder(listing)


def _datumaro(listing: FileIndex, label_maps: list[str]) -> Source | None:
    from holdfast.data.formats import datumaro

    return datumaro.FORMAT.open_folder(listing)


def _supervisely(listing: FileIndex, label_maps: list[str]) -> Source | None:
    from holdfast.data.formats import supervisely

    return supervisely.open_source(listing)


def _parquet(listing: FileIndex, label_maps: list[str]) -> Source | None:
    from holdfast.data.formats import parquet

    return parquet.open_folder(listing)


#: How to open a folder in each format; None where it holds none of it. In the order of trust in one folder.
FORMATS: dict[str, Callable[[FileIndex, list[str]], Source | None]] = {
    "coco": _coco,
    "voc": _voc,
    "labelme": _labelme,
    "yolo": _yolo,
    "tfrecord": _tfrecord,
    "cvat": _cvat,
    "label-studio": _label_studio,
    "via": _via,
    "datumaro": _datumaro,
    "supervisely": _supervisely,
    "parquet": _parquet,
    "open-images": _open_images,
    "csv": _csv,
}

#: Those that are written too.
WRITABLE_FORMATS = ("coco", "voc", "yolo", "tfrecord")
