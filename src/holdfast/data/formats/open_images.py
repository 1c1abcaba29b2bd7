"""Open Images' CSV: fractions of the image, image ids without an extension, class codes with a table of names.

The published tables list millions of images, and hardly anybody has them all: rows of images that are not here are left
out and counted. Numbers may have a decimal comma, as a spreadsheet writes them.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from holdfast.data.dataset_reader import Problem
from holdfast.data.files.file_index import FileIndex, ImageFinder, normalized_name, stem_of
from holdfast.data.files.name_index import NameIndex, NameSet
from holdfast.data.formats import csv
from holdfast.data.formats.csv import CsvSource
from holdfast.data.tables.csv_columns import is_open_images
from holdfast.data.tables.csv_file import CsvFile
from holdfast.errors import UnreadableAnnotation


def open_folder(listing: FileIndex) -> CsvSource | None:
    names = []
    for name in listing.with_suffix(".csv", ".tsv"):
        found = csv.columns_of(listing.path(name))
        if found is not None and is_open_images(found[0]):
            names.append(name)
    return open_source(listing, names, listing.root) if names else None


def open_source(listing: FileIndex, names: list[str], path: str) -> CsvSource:
    images = listing.images()
    finder = ImageFinder.of(listing.root, images)
    files: list[CsvFile] = []
    noted: list[Problem] = []
    for name in names:
        try:
            file, absent = _read(listing, name, finder.by_stem)
        except UnreadableAnnotation as error:
            noted.append(Problem("unreadable-annotation", listing.path(name), error.what))
            if len(names) == 1:
                raise
            continue
        files.append(replace(file, classes=csv.described(file.classes, listing)))
        if absent:
            said = f"{absent:,} images of the table are not in this folder; {len(file.images):,} are"
            noted.append(Problem("images-not-downloaded", listing.path(name), said, absent))
    return CsvSource(path, listing, finder, tuple(files), tuple(noted), "open-images")


def _read(listing: FileIndex, name: str, present: NameIndex) -> tuple[CsvFile, int]:
    """The rows of images that are here, and how many images are not. Without any, all rows: then they are missing."""
    absent = NameSet()

    @lru_cache(maxsize=1)  # the rows of an image mostly follow each other
    def wanted(image: str) -> bool:
        if normalized_name(image) in present or normalized_name(stem_of(image)) in present:
            return True
        absent.add(image)
        return False

    file = csv.read_file(listing, name, wanted=wanted)
    if len(file.images) or not len(absent):
        return file, len(absent)
    return csv.read_file(listing, name), 0
