"""The files of a dataset's folder, and which image an annotation means."""

from __future__ import annotations

import os
import re
import unicodedata
from array import array
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from urllib.parse import unquote

from holdfast.data.files import filesystem
from holdfast.data.files.name_index import NameIndex, digest_of
from holdfast.data.files.packed_list import PackedList
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


def without_masks(images: Sequence[str]) -> Sequence[str]:
    """Without the masks of images: files of a folder of masks that are called like an image elsewhere.

    YOLO and labelme would take them for images with nothing in them.
    """
    folders = {folder for folder in set(map(folder_of, images)) if _MASKS.search(f"/{folder}/")}
    if not folders:
        return images
    stems = {stem_of(name) for name in images if folder_of(name) not in folders}

    def is_mask(name: str) -> bool:
        masked = folder_of(name) in folders and suffix_of(name) not in (".jpg", ".jpeg")
        return masked and stem_of(name) in stems

    return PackedList(name for name in images if not is_mask(name))


@dataclass(frozen=True)
class FileIndex:
    """All files below `root`, relative to it, in a fixed order."""

    root: str
    files: Sequence[str]

    @classmethod
    def of(cls, root: str) -> FileIndex:
        return cls(root, PackedList(refuse_unrelated(filesystem.walk(root), root)))

    def path(self, name: str) -> str:
        return filesystem.join(self.root, name)

    def with_suffix(self, *suffixes: str) -> Sequence[str]:
        return PackedList(name for name in self.files if suffix_of(name) in suffixes)

    def images(self) -> Sequence[str]:
        return self._images

    @cached_property
    def _images(self) -> Sequence[str]:
        return without_masks(PackedList(name for name in self.files if is_image(name)))

    def without_files(self) -> FileIndex:
        """Only where it is: what a worker needs of it."""
        return FileIndex(self.root, ())


@dataclass(frozen=True, slots=True)
class ImageFinder:
    """Finds the image that an annotation names, wherever in the folder it lies."""

    root: str
    images: Sequence[str]
    by_name: NameIndex = field(repr=False)
    by_stem: NameIndex = field(repr=False)
    taken: frozenset[str] = field(default=frozenset(), repr=False)  # no other name may be taken to mean these

    @classmethod
    def of(cls, root: str, images: Sequence[str]) -> ImageFinder:
        by_stem = NameIndex(normalized_name(stem_of(name)) for name in images)
        return cls(root, images, NameIndex(images), by_stem)

    def place(self, name: str) -> int | None:
        """Which of the images is called exactly so."""
        return next((at for at in self.by_name.positions(name) if self.images[at] == name), None)

    def with_stem(self, stem: str) -> list[str]:
        """The images with this normalized stem."""
        found = (self.images[at] for at in self.by_stem.positions(stem))
        return [name for name in found if normalized_name(stem_of(name)) == stem]

    def knowing(self, names: Iterable[tuple[str, str]]) -> ImageFinder:
        """Of all the names and the annotations that they stand in: an image that one of them names exactly is not
        what another means, and neither is one that two different names would be taken to mean."""
        exact = bytearray(len(self.images))
        loose = PackedList(self._not_exactly(names, exact))
        if not loose:
            return self
        meant = array(
            "Q", bytes(8 * len(self.images))
        )  # the digest of the name that was taken to mean an image
        taken: set[str] = set()
        for name, near in loose:
            found = self.find(name, near=near)
            place = self.place(found) if found else None
            if found is None or place is None:
                continue
            meaning = digest_of(portable(name))
            if exact[place]:
                taken.add(found)
            if meant[place] not in (0, meaning):
                taken.update(self.with_stem(normalized_name(stem_of(found))))
            meant[place] = meaning
        return replace(self, taken=frozenset(taken))

    def _not_exactly(self, names: Iterable[tuple[str, str]], exact: bytearray) -> Iterator[tuple[str, str]]:
        """Those that no image is called by; images that are, are marked."""
        for name, near in names:
            found = self._exactly(name, near)
            if not found:
                yield name, near
            elif (place := self.place(found)) is not None:
                exact[place] = 1

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
                for one in self.with_stem(normalized_name(key))
                if one not in self.taken and not _of_another_split(one, near)
            ]
            if found:
                return max(found, key=lambda candidate: _likeness(candidate, wanted, near))
        return None

    def _exactly(self, name: str, near: str) -> str | None:
        wanted, folder = portable(name), folder_of(near)
        if wanted:
            above = folder_of(folder)
            places = (folder, "", f"{folder}/images", f"{above}/images", f"{above}/JPEGImages")
            # As it is written, too: a backslash may be part of a name.
            tried = (f"{place}/{text}".lstrip("/") for place in places for text in (wanted, name))
            for candidate in dict.fromkeys(tried):
                if self.place(candidate) is not None:
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
        return inside if self.place(inside) is not None else os.path.abspath(place)

    def alternatives(self, name: str, found: str | None, near: str) -> list[str]:
        """Other images that the name fits just as well as the one that was found."""
        same = self.with_stem(normalized_name(stem_of(found))) if found else []
        if len(same) < 2 or found is None or found in (portable(name), f"{folder_of(near)}/{portable(name)}"):
            return []
        wanted, rank = portable(name), _likeness(found, portable(name), near)[:3]
        return [other for other in same if other != found and _likeness(other, wanted, near)[:3] == rank]

    def own(self, found: str | None, key: str, stems: Container[str]) -> str | None:
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
