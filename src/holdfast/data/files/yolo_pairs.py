"""YOLO's files: which images the YAML means, and which text file belongs to which image.

A listing may be of millions of images, so what is known of them is in lists on disk.
"""

from __future__ import annotations

import posixpath
import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from holdfast.data.dataset_reader import Problem
from holdfast.data.files import filesystem, text_encoding
from holdfast.data.files.file_index import (
    FileIndex,
    is_image,
    normalized_name,
    same_ending,
    stem_of,
    without_suffix,
)
from holdfast.data.files.name_index import NameIndex
from holdfast.data.files.packed_list import PackedList, PackedWriter
from holdfast.data.files.splits import TRAINING_NAMES, VALIDATION_NAMES, bare_split

LARGEST_TXT_BYTES = 32 << 20
#: Folders that hold images or their texts, and that a path of the one has where the other's has another.
STANDARD_FOLDERS = frozenset(("images", "image", "imgs", "img", "jpegimages", "pictures", "labels", "label"))
SPLIT_KEYS = (*TRAINING_NAMES, *VALIDATION_NAMES)
_NOT_SPLITS = frozenset(("path", "names", "nc", "download", "roboflow", "kpt_shape", "flip_idx"))

SplitImage = tuple[str, str | None]


class KeyIndex:
    """The names with a key, as `key_of` makes it."""

    def __init__(self, names: Sequence[str], key_of: Callable[[str], str]) -> None:
        self.names, self._key_of = names, key_of
        self._index = NameIndex(map(key_of, names))

    def places(self, key: str) -> Iterator[int]:
        return (at for at in self._index.positions(key) if self._key_of(self.names[at]) == key)

    def with_key(self, key: str) -> list[str]:
        return [self.names[at] for at in self.places(key)]


def selected_images(
    listing: FileIndex,
    settings: dict[str, Any],
    yaml_name: str,
    images: Sequence[str],
    noted: list[Problem],
) -> Sequence[SplitImage]:
    """The images that the YAML names under train, val and so on, with these as splits; none where nothing fits."""
    chosen = PackedWriter[SplitImage]()
    splits: list[str] = []
    split_of = array("H", bytes(2 * len(images)))  # of each image, counted from 1
    absent: list[Problem] = []
    folder = yaml_name.rsplit("/", 1)[0] + "/" if "/" in yaml_name else ""
    for split, value in settings.items():
        if split in _NOT_SPLITS:
            continue
        splits.append(str(split))
        own = len(splits)
        for place in value if isinstance(value, list) else [value]:
            if isinstance(place, str) and place not in ("", "null", "~"):
                usual = bare_split(split) in SPLIT_KEYS
                if not usual and "/" not in place.replace("\\", "/") and not place.endswith(".txt"):
                    continue  # `channels: 3`, `task: detect`
                named = _images_named(listing, folder, place, images, noted)
                if not named and usual and bare_split(split) != "test":  # exports often have no test
                    said = f"{split}: there is no image in {place}"
                    absent.append(Problem("listed-but-absent", listing.path(yaml_name), said))
                twice = array("q", (at for at in named if split_of[at] not in (0, own)))
                if twice:
                    other, first = splits[split_of[twice[0]] - 1], images[twice[0]]
                    said = f"{split} names {len(twice)} images of {other}, such as {first}"
                    noted.append(Problem("split-overlap", listing.path(yaml_name), said, len(twice)))
                for at in named:
                    if not split_of[at]:
                        split_of[at] = own
                        chosen.add((images[at], str(split)))
    if not images:
        said = f"there is no image below {listing.root}, where the YAML looks"
        noted.append(Problem("listed-but-absent", listing.path(yaml_name), said))
    noted += absent if chosen else []  # a YAML of another machine: nothing fits, and all images are meant
    return chosen.finished()


def _images_named(
    listing: FileIndex, folder: str, place: str, images: Sequence[str], noted: list[Problem]
) -> array[int]:
    """Their places in the list of images."""
    cleaned = re.sub(r"^(\.\.?/)+", "", place.replace("\\", "/")).strip("/")
    if cleaned.endswith(".txt"):
        names = [name for name in listing.files if name in (folder + cleaned, cleaned)]
        return array("q", (at for name in names for at in _images_listed(listing.path(name), images, noted)))
    for prefix in (f"{folder}{cleaned}/", f"{cleaned}/"):
        everything = prefix == "/" or cleaned == ""
        found = array("q", (at for at, name in enumerate(images) if everything or name.startswith(prefix)))
        if found:
            return found
    # An absolute path of another machine: its last folders still say which images are meant.
    tail = "/".join(cleaned.split("/")[-2:]) + "/"
    return array("q", (at for at, name in enumerate(images) if f"/{name}".find("/" + tail) >= 0))


def _images_listed(path: str, images: Sequence[str], noted: list[Problem]) -> Iterator[int]:
    absent: list[str] = []
    lines = 0
    by_name, by_stem = KeyIndex(images, str), KeyIndex(images, stem_of)
    for line in text_encoding.text(filesystem.read_bytes(path, 0, LARGEST_TXT_BYTES)).splitlines():
        wanted = posixpath.normpath(line.strip().replace("\\", "/"))
        lines += is_image(wanted)
        found = next(by_name.places(wanted), None)
        if found is None and is_image(wanted):
            alike = _most_alike(wanted, by_stem.with_key(stem_of(wanted)))
            found = next(by_name.places(alike), None) if alike else None
        if found is not None:
            yield found
        elif is_image(wanted):
            absent.append(line.strip())
    if absent:
        said = f"{len(absent)} of {lines} are not there, such as {absent[0]}"
        noted.append(Problem("listed-but-absent", path, said, len(absent)))


def _most_alike(wanted: str, candidates: list[str]) -> str | None:
    """The one whose last folders are those of a path of another machine; None where two are as much alike."""
    ranked = sorted(candidates, key=lambda name: -same_ending(name, wanted))
    if len(ranked) > 1 and same_ending(ranked[0], wanted) == same_ending(ranked[1], wanted):
        return None
    return ranked[0] if ranked else None


def labels_of(images: Iterable[str], texts: Sequence[str]) -> Sequence[str | None]:
    """Of each image its text: `labels` for the last `images` in the path, or else whichever of several was meant."""
    named = PackedList(images)
    indices = [(key_of, KeyIndex(texts, key_of)) for key_of in (_label_key, _without_standard_folders)]

    def label(name: str) -> str | None:
        found = (index.with_key(key_of(name)) for key_of, index in indices)
        return next((texts[-1] for texts in found if texts), None)

    labels = PackedList(map(label, named))
    return labels if any(labels) else _by_name_alone(named, texts)


def _by_name_alone(images: Sequence[str], texts: Sequence[str]) -> Sequence[str | None]:
    """`photos/a.jpg` and `annotations/a.txt`, where no text is anywhere that YOLO looks and no name occurs twice."""
    owners, candidates = KeyIndex(images, _plain_stem), KeyIndex(texts, _plain_stem)

    def label(name: str) -> str | None:
        stem = _plain_stem(name)
        own, found = list(owners.places(stem)), candidates.with_key(stem)
        return found[0] if len(own) == len(found) == 1 else None

    return PackedList(map(label, images))


def _plain_stem(name: str) -> str:
    return normalized_name(stem_of(name))


def _without_standard_folders(name: str) -> str:
    parts = without_suffix(name).split("/")
    return normalized_name(
        "/".join([part for part in parts[:-1] if part.lower() not in STANDARD_FOLDERS] + parts[-1:])
    )


def _label_key(name: str) -> str:
    """The same for `images/train/a.jpg`, `labels/train/a.txt` and for files side by side."""
    parts = without_suffix(name).split("/")
    for position in range(len(parts) - 2, -1, -1):
        if parts[position].lower() in STANDARD_FOLDERS:
            return "/".join(parts[:position] + parts[position + 1 :])
    return "/".join(parts)
