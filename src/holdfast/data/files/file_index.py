"""The files of a dataset's folder, and which image an annotation means."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from urllib.parse import unquote

from holdfast.data.files import filesystem
from holdfast.data.files.splits import bare_split, split_in_name, split_in_path
from holdfast.errors import UnknownFormat

IMAGE_SUFFIXES = frozenset(
    (".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".bmp", ".gif", ".webp", ".tif", ".tiff", ".ppm", ".pgm")
)
_DATASET_SUFFIXES = IMAGE_SUFFIXES | {
    ".xml",
    ".txt",
    ".json",
    ".csv",
    ".tsv",
    ".yaml",
    ".yml",
    ".pbtxt",
    ".parquet",
}
IMAGE_FOLDERS = ("images", "image", "imgs", "img", "jpegimages")
LOOK_AFTER = 100_000  # files: a second's walk
_MASKS = re.compile(r"/(segmentation(class|object)\w*|trimaps|masks)/", re.IGNORECASE)


def suffix_of(name: str) -> str:
    dot = name.rfind(".")
    return name[dot:].lower() if dot > name.rfind("/") + 1 else ""


def stem_of(name: str) -> str:
    base = name.rsplit("/", 1)[-1]
    dot = base.rfind(".")
    return base[:dot] if dot > 0 else base


def without_suffix(name: str) -> str:
    return name[: len(name) - len(suffix_of(name))]


def folder_of(name: str) -> str:
    return name.rsplit("/", 1)[0] if "/" in name else ""


def is_image(name: str) -> bool:
    return suffix_of(name) in IMAGE_SUFFIXES


def normalized_name(name: str) -> str:
    """Equal for names that look the same: macOS writes é as two characters, most others as one."""
    return unicodedata.normalize("NFC", name).lower()


def portable(name: str) -> str:
    """An image's name with forward slashes, without drive, leading slash or steps upwards."""
    parts = re.sub(r"^[A-Za-z]:", "", name.strip("\r\n").replace("\\", "/")).split("/")
    return "/".join(part for part in parts if part not in ("", ".", ".."))


def refuse_unrelated(names: Iterable[str], root: str, *, look_after: int = LOOK_AFTER) -> Iterator[str]:
    """The names, unless most of the first hundred thousand are of no dataset: somebody's home, or the whole disk."""
    known = 0
    for count, name in enumerate(names, start=1):
        known += suffix_of(name) in _DATASET_SUFFIXES or "record" in name
        if count % look_after == 0 and 2 * known < count:
            raise UnknownFormat(
                "this folder holds far more than a dataset",
                where=root,
                found=f"{known:,} of its first {count:,} files are images or annotations; it was not read further",
                change="give the folder of the dataset itself",
            )
        yield name


def display_name(name: str, found: str | None) -> str:
    """What to call an image that an annotation calls `name`: where that is a URL, by what was found for it."""
    if "://" not in name:
        # A backslash may be part of a name; most are of Windows.
        return portable(name) if "\\" in name and found and "\\" not in found else name
    return found or bare_url(name).rsplit("/", 1)[-1] or name


def bare_url(name: str) -> str:
    """Without what follows a `?`, and with %20 as the space that it stands for."""
    return unquote(name.split("?", 1)[0])


def without_masks(images: list[str]) -> list[str]:
    """Without the masks of images: files of a folder of masks that are called like an image elsewhere.

    YOLO and labelme would take them for images with nothing in them.
    """
    folders = {folder for folder in set(map(folder_of, images)) if _MASKS.search(f"/{folder}/")}
    if not folders:
        return images
    masks = [name for name in images if folder_of(name) in folders]
    stems = {stem_of(name) for name in set(images) - set(masks)}
    gone = {name for name in masks if stem_of(name) in stems and suffix_of(name) not in (".jpg", ".jpeg")}
    return [name for name in images if name not in gone]


@dataclass(frozen=True, slots=True)
class FileIndex:
    """All files below `root`, relative to it, in a fixed order."""

    root: str
    files: tuple[str, ...]

    @classmethod
    def of(cls, root: str) -> FileIndex:
        return cls(root, tuple(refuse_unrelated(filesystem.walk(root), root)))

    def path(self, name: str) -> str:
        return filesystem.join(self.root, name)

    def with_suffix(self, *suffixes: str) -> list[str]:
        return [name for name in self.files if suffix_of(name) in suffixes]

    def images(self) -> list[str]:
        return without_masks([name for name in self.files if is_image(name)])


@dataclass(frozen=True, slots=True)
class ImageFinder:
    """Finds the image that an annotation names, wherever in the folder it lies."""

    root: str
    images: frozenset[str]
    by_stem: dict[str, list[str]] = field(repr=False)
    taken: frozenset[str] = field(default=frozenset(), repr=False)  # no other name may be taken to mean these

    @classmethod
    def of(cls, root: str, images: Iterable[str]) -> ImageFinder:
        names = list(images)
        by_stem: dict[str, list[str]] = {}
        for name in names:
            by_stem.setdefault(normalized_name(stem_of(name)), []).append(name)
        return cls(root, frozenset(names), by_stem)

    def knowing(self, names: Iterable[tuple[str, str]]) -> ImageFinder:
        """Of all the names and the annotations that they stand in: an image that one of them names exactly is not
        what another means, and neither is one that two different names would be taken to mean."""
        exact: set[str] = set()
        loose: list[tuple[str, str]] = []
        for name, near in names:
            found = self._exactly(name, near)
            exact.add(found) if found else loose.append((name, near))
        if not loose:
            return self
        meant: dict[str, set[str]] = {}
        for name, near in dict.fromkeys(loose):
            if found := self.find(name, near=near):
                meant.setdefault(found, set()).add(portable(name))
        twice = {normalized_name(stem_of(found)) for found, meaning in meant.items() if len(meaning) > 1}
        return replace(
            self, taken=frozenset(exact & set(meant)) | {n for stem in twice for n in self.by_stem[stem]}
        )

    def find(self, name: str, *, near: str, stem: str | None = None) -> str | None:
        """Path of the image called `name` by the annotation at `near`, relative to the root, or None.

        Exact places come first, then the same name elsewhere, then the same name with another extension,
        then an image with the annotation's own `stem`: tools rename and move files and leave the text.
        """
        exact = self._exactly(name, near)
        if exact:
            return exact
        wanted = portable(name)
        base = wanted.rsplit("/", 1)[-1]
        # What follows the last dot is an extension only where it is an image's: "scan.3" is a name.
        keys = [stem_of(wanted), base, stem] if is_image(base) else [base, stem_of(wanted), stem]
        if "%" in name or "?" in name:
            keys.insert(1, stem_of(portable(bare_url(name))))
        for key in dict.fromkeys(filter(None, keys)):
            found = [
                one
                for one in self.by_stem.get(normalized_name(key), ())
                if one not in self.taken and not _of_another_split(one, near)
            ]
            if found:
                return max(found, key=lambda candidate: _likeness(candidate, wanted, near))
        return None

    def _exactly(self, name: str, near: str) -> str | None:
        wanted, folder = portable(name), folder_of(near)
        if wanted:
            above = folder_of(folder)
            for place in (folder, "", f"{folder}/images", f"{above}/images", f"{above}/JPEGImages"):
                for candidate in (f"{place}/{wanted}".lstrip("/"), f"{place}/{name}".lstrip("/")):
                    if candidate in self.images:  # as it is written, too: a backslash may be part of a name
                        return candidate
        return self._outside(name, folder) if name.startswith(("/", "..")) else None

    def _outside(self, name: str, folder: str) -> str | None:
        """A whole path, or one that steps out of the annotation's folder, where it leads to a file."""
        if filesystem.is_url(self.root):
            return None
        place = os.path.join(self.root, folder, name)
        if not os.path.isfile(place):
            return None
        inside = os.path.relpath(place, self.root or ".").replace(os.sep, "/")
        return inside if inside in self.images else os.path.abspath(place)

    def alternatives(self, name: str, found: str | None, near: str) -> list[str]:
        """Other images that the name fits just as well as the one that was found."""
        same = self.by_stem.get(normalized_name(stem_of(found)), []) if found else []
        if len(same) < 2 or found is None or found in (portable(name), f"{folder_of(near)}/{portable(name)}"):
            return []
        wanted, rank = portable(name), _likeness(found, portable(name), near)[:3]
        return [other for other in same if other != found and _likeness(other, wanted, near)[:3] == rank]

    def own(self, found: str | None, key: str, stems: frozenset[str]) -> str | None:
        """The image called like the annotation at `key`, where the one that it names is another annotation's.

        Whoever copies an annotation and changes the boxes leaves the first image's name in all of them.
        """
        stem = stem_of(key)
        if found is None or stem_of(found) == stem or stem_of(found) not in stems:
            return None
        own = self.find(stem, near=key)
        return own if own is not None and stem_of(own) == stem else None

    def expected(self, name: str, near: str) -> str:
        """Where an image that is not there was expected, for messages."""
        wanted = portable(name) or stem_of(near)
        folder = folder_of(near)
        return filesystem.join(self.root, f"{folder}/{wanted}" if folder else wanted)


def siblings(folder: str, name: str) -> FileIndex:
    """The files right beside one file, without descending: its folder may be somebody's home."""
    if filesystem.is_url(folder):
        return FileIndex.of(folder)
    try:
        names = sorted(entry.name for entry in os.scandir(folder or ".") if entry.is_file())
    except OSError:
        names = [name]
    return FileIndex(folder, tuple(names))


def same_ending(one: str, other: str) -> int:
    """How many of the last parts of two paths are the same."""
    pairs = zip(reversed(one.split("/")), reversed(other.split("/")), strict=False)
    return next(
        (count for count, (ours, theirs) in enumerate(pairs) if ours != theirs),
        min(one.count("/"), other.count("/")) + 1,
    )


def _of_another_split(image: str, near: str) -> bool:
    """The image is in a folder of one split, and the annotation that lists it is another's."""
    theirs = split_in_path(image)
    if theirs is None or stem_of(near) == stem_of(image):
        return False
    ours = split_in_path(near) or split_in_name(near)
    return ours is not None and bare_split(ours) != bare_split(theirs)


def _likeness(candidate: str, wanted: str, near: str) -> tuple[bool, int, int, int, str]:
    same_name = candidate.rsplit("/", 1)[-1] == wanted.rsplit("/", 1)[-1]
    trailing = same_ending(candidate, wanted)
    places = set(near.split("/")) | set(re.split(r"[_\-./ ]+", near))
    shared = sum(part in places for part in folder_of(candidate).split("/"))
    return same_name, trailing, shared, -len(candidate), candidate
