"""COCO JSON: images, annotations and categories in one file a split; boxes are `[x, y, width, height]`."""

from __future__ import annotations

import json
import os
import re
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from holdfast.data.dataset_reader import ParsedEntry, Problem, ProblemList, SourceEntry, ambiguous_image
from holdfast.data.files import filesystem, text_encoding
from holdfast.data.files.file_index import FileIndex, ImageFinder, display_name, folder_of
from holdfast.data.files.json_stream import BadJson, top_level
from holdfast.data.files.parse_numbers import parse_flag, parse_number, parse_size
from holdfast.data.files.splits import split_in_name, split_in_path
from holdfast.data.formats.coco_masks import box_of
from holdfast.data.records import Box, ImageRef, Record
from holdfast.errors import HoldfastError, UnreadableAnnotation

_OTHER_TASKS = re.compile(r"(person_keypoints|captions|stuff|panoptic|image_info)", re.IGNORECASE)

_NONE = -(2**63)  # in the integer columns, for an id that is absent or does not fit


@dataclass(slots=True)
class CocoFile:
    """One file, compact: about 70 bytes a box and 300 an image."""

    name: str
    split: str | None
    images: list[tuple[str, str, int | None, int | None]]
    categories: dict[Any, str]
    problems: tuple[Problem, ...]
    boxes: array[float]  # x, y, w, h, area of each annotation
    owners: array[int]  # image position, category slot, annotation id, flags (1 crowd, 2 difficult)
    slots: list[Any]  # category ids by slot
    starts: array[int]  # of image i's annotations, in the sorted order
    order: array[int]
    lost: dict[int, int]  # image position to its annotations that cannot be read

    def annotations(self, image: int) -> Iterator[tuple[Any, int, int | None, tuple[float, ...]]]:
        for place in range(self.starts[image], self.starts[image + 1]):
            at = self.order[place]
            _, slot, identity, flags = self.owners[4 * at : 4 * at + 4]
            values = tuple(self.boxes[5 * at : 5 * at + 5])
            yield self.slots[slot], flags, None if identity == _NONE else identity, values


@dataclass(frozen=True, slots=True)
class CocoSource:
    path: str
    listing: FileIndex
    finder: ImageFinder
    files: tuple[CocoFile, ...]
    noted: tuple[Problem, ...] = ()
    format: str = "coco"
    relative: bool = False

    @property
    def folder_images(self) -> tuple[str, ...]:
        # A file that was given by name says nothing about the images around it.
        return tuple(sorted(self.finder.images)) if self.path == self.listing.root else ()

    def entries(self) -> Iterator[SourceEntry]:
        for number_of, file in enumerate(self.files):
            for position in range(len(file.images)):
                yield SourceEntry(file.name, file.split, position, number_of)

    def negatives(self, images: Iterable[str]) -> Iterator[SourceEntry]:
        return iter(())  # a negative is listed under "images" and has no annotation

    def class_ids(self) -> dict[str, int]:
        return {
            name: identity
            for file in self.files
            for identity, name in file.categories.items()
            if isinstance(identity, int)
        }

    def problems(self) -> tuple[Problem, ...]:
        return self.noted + tuple(problem for file in self.files for problem in file.problems)

    def parse(self, entry: SourceEntry) -> ParsedEntry:
        file = self.files[entry.offset]
        identity, name, width, height = file.images[entry.position]
        found = self.finder.find(name, near=entry.key)
        path = self.listing.path(found) if found else self.finder.expected(name, entry.key)
        source = self.listing.path(entry.key)
        annotations = list(file.annotations(entry.position))
        boxes = tuple(
            Box(
                x, y, x + w, y + h, file.categories[category],
                crowd=bool(flags & 1), difficult=bool(flags & 2), id=annotation, area=None if area != area else area,
            )
            for category, flags, annotation, (x, y, w, h, area) in annotations
            if category in file.categories
        )  # fmt: skip
        image = ImageRef(path, width=width, height=height)
        unsure = ambiguous_image(self.finder, name, found, entry.key, source)
        lost = file.lost.get(entry.position, 0) + len(annotations) - len(boxes)
        record = Record(identity, display_name(name, found), image, boxes, entry.split, source)
        return ParsedEntry(record, unsure, lost)


def looks_like_coco(path: str) -> bool:
    """An object with images, annotations and categories, told by its first megabyte and its end."""
    try:
        head = text_encoding.as_utf8(filesystem.read_bytes(path, 0, 1 << 20))
        if not head.lstrip(b" \t\r\n").startswith(b"{") or _is_key(b"shapes", head[:4096]):
            return False
        if b'"images"' in head and b'"annotations"' in head and b'"file_name"' in head:
            boxes = _is_key(b"bbox", head) or _is_key(b"segmentation", head)
            return not _is_key(b"segments_info", head) and (boxes or not _is_key(b"caption", head))
        tail = _tail(path) if len(head) == 1 << 20 else b""
    except HoldfastError:
        return False
    seen = [key for key in (b'"images"', b'"annotations"', b'"categories"') if key in head or key in tail]
    if len(seen) == 3 or (len(seen) == 2 and b'"file_name"' in head):
        return True
    # Keys in the order of the alphabet: the list of images is last, and begins between the first and the last megabyte.
    boxes = _is_key(b"bbox", head) and _is_key(b"image_id", head)
    return boxes and b'"annotations"' in seen and b'"file_name"' in tail


def _is_key(name: bytes, text: bytes) -> bool:
    return re.search(rb'"%s"\s*:' % name, text) is not None


def _tail(path: str) -> bytes:
    with filesystem.open_binary(path) as handle:
        handle.seek(max(0, handle.seek(0, os.SEEK_END) - (1 << 20)))
        return handle.read()


def open_folder(listing: FileIndex) -> CocoSource | None:
    """The COCO files of a folder as one dataset; None when it has none."""
    names = [name for name in listing.with_suffix(".json") if looks_like_coco(listing.path(name))]
    if not names:
        return None
    source = open_source(listing, sorted(_box_files(names)), listing.root)
    return replace(source, noted=source.noted + tuple(_broken_siblings(listing, names)))


def _box_files(names: list[str]) -> list[str]:
    """Without COCO's files of other tasks, which repeat the images of the instances_*.json beside them."""
    others = {name for name in names if _OTHER_TASKS.search(name.rsplit("/", 1)[-1])}
    boxes = {name for name in names if name not in others}
    twins = {name: _OTHER_TASKS.sub("instances", name) for name in others}
    kept = [name for name in names if name in boxes or twins[name] not in boxes]
    # person_keypoints_val2017.json without its instances_val2017.json has boxes; one such file a split is enough.
    first: dict[str, str] = {}
    for name in kept:
        first.setdefault(twins.get(name, name), name)
    return list(first.values())


def _broken_siblings(listing: FileIndex, names: list[str]) -> Iterator[Problem]:
    """JSON files beside COCO's own that are not even JSON: half a dataset must not vanish in silence."""
    folders = {folder_of(name) for name in names}
    for name in listing.with_suffix(".json"):
        if name in names or folder_of(name) not in folders:
            continue
        try:
            json.loads(filesystem.read_bytes(listing.path(name), 0, 64 << 20))
        except RecursionError:
            yield Problem("unreadable-annotation", listing.path(name), "the JSON is nested too deeply")
        except ValueError as error:
            yield Problem("unreadable-annotation", listing.path(name), f"this is not JSON: {error}")
        except HoldfastError as error:
            yield Problem("unreadable-annotation", listing.path(name), error.what)


def open_source(listing: FileIndex, names: list[str], path: str) -> CocoSource:
    """The given JSON files of a listing as one dataset, each a split of its own."""
    finder = ImageFinder.of(listing.root, listing.images())
    files: list[CocoFile] = []
    broken: list[UnreadableAnnotation] = []
    for name in names:
        try:
            files.append(read_file(listing, name, split_in_path(name) or split_in_name(name)))
        except UnreadableAnnotation as error:
            broken.append(error)
    if not files and broken:
        raise broken[0]
    noted = tuple(Problem("unreadable-annotation", error.where, error.what) for error in broken)
    if len(files) > 1:
        files, repeated = _without_repeats(files, listing, finder)
        noted += repeated
    finder = finder.knowing((name, file.name) for file in files for _, name, _, _ in file.images)
    return CocoSource(path, listing, finder, tuple(files), noted)


def _without_repeats(
    files: list[CocoFile], listing: FileIndex, finder: ImageFinder
) -> tuple[list[CocoFile], tuple[Problem, ...]]:
    """Without files of which most images are in a larger file of the same split: a part of it, or another task's."""
    kept: list[tuple[CocoFile, set[str]]] = []
    noted: list[Problem] = []
    by_size = sorted(files, key=lambda file: ("instances" not in file.name, -len(file.images)))
    for file in by_size:
        mine = {finder.find(name, near=file.name) or name for _, name, _, _ in file.images}
        same = [(other, len(mine & theirs)) for other, theirs in kept if other.split == file.split]
        first, shared = max(same, key=lambda pair: pair[1], default=(None, 0))
        if first is not None and mine and 2 * shared > len(mine):
            said = f"{shared:,} of its {len(mine):,} images are in {first.name}, which is read"
            noted.append(Problem("repeated-annotations", listing.path(file.name), said))
        else:
            kept.append((file, mine))
    names = {file.name for file, _ in kept}
    return [file for file in files if file.name in names], tuple(noted)


def read_file(listing: FileIndex, name: str, split: str | None) -> CocoFile:
    path = listing.path(name)
    reading = _Reading(path)
    try:
        with filesystem.open_binary(path) as handle:
            for key, element in top_level(text_encoding.utf8_stream(handle)):
                reading.take(key, element)
    except BadJson as error:
        raise UnreadableAnnotation(
            f"the JSON cannot be read: {error}",
            where=path,
            change="the file may end early: copy or export it again",
        ) from None
    except OSError as error:
        raise filesystem.as_file_error(error, path) from None
    return reading.finished(name, split)


class _Reading:
    """Collects one file; the three arrays may come in any order."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.images: list[tuple[str, str, int | None, int | None]] = []
        self.categories: dict[Any, str] = {}
        self.positions: dict[Any, int] = {}
        self.slot_of: dict[Any, int] = {}
        self.owner_ids: dict[Any, int] = {}
        self.problems = ProblemList(path)
        self.boxes = array("d")
        self.owners = array("q")
        self.seen: set[str] = set()
        self.split: str | None = None
        self.lost: dict[Any, int] = {}  # by image id

    def take(self, key: str, element: Any) -> None:
        if key == "info" and isinstance(element, dict) and isinstance(element.get("split"), str):
            self.split = element["split"]  # our writer's: a file's name can say only the usual splits
        if key not in ("images", "annotations", "categories"):
            return
        self.seen.add(key)
        if not isinstance(element, dict):
            said = f"{key} holds {str(element)[:60]!r} where an object was expected"
            self.problems.add("unreadable-annotation", said)
        elif key == "images":
            self._image(element)
        elif key == "categories":
            self._category(element)
        else:
            self._annotation(element)

    def _image(self, element: dict[str, Any]) -> None:
        identity, name = _id(element.get("id")), element.get("file_name") or element.get("coco_url")
        if not isinstance(identity, int | str) or not isinstance(name, str):
            self.problems.add(
                "unreadable-annotation", f"an image without id or file_name: {str(element)[:80]}"
            )
        elif identity in self.positions:
            if self.images[self.positions[identity]][1] == name:
                return  # listed twice, and the same both times
            self.problems.add("duplicate-id", f"image id {identity} occurs twice: {name[:80]}")
        else:
            self.positions[identity] = len(self.images)
            original = element.get("source_id")  # our writer's, for ids that are not numbers
            shown = original if isinstance(original, str) and original else str(identity)
            self.images.append(
                (shown, name, parse_size(element.get("width")), parse_size(element.get("height")))
            )

    def _category(self, element: dict[str, Any]) -> None:
        identity, name = _id(element.get("id")), element.get("name")
        if not isinstance(identity, int | str) or not isinstance(name, str) or not name:
            self.problems.add("unreadable-annotation", f"a category without id or name: {str(element)[:80]}")
        elif identity in self.categories and self.categories[identity] != name:
            self.problems.add(
                "duplicate-id", f"category id {identity} is {self.categories[identity]!r} and {name!r}"
            )
        else:
            self.categories[identity] = name

    def _annotation(self, element: dict[str, Any]) -> None:
        identity = _id(element.get("id"))
        shown = f"annotation {str(identity)[:40]}"
        corners = _box(element)
        owner, category = _id(element.get("image_id")), _id(element.get("category_id"))
        if corners is None:
            mask = isinstance(element.get("segmentation"), dict)
            outline = " and its outline is a mask that cannot be read" if mask else ""
            said = f"{shown}: its bbox is {str(element.get('bbox'))[:60]}{outline}, not [x, y, width, height]"
            self.problems.add("unreadable-annotation", said)
            self._lose(owner)
            return
        if not isinstance(owner, int | str) or not isinstance(category, int | str):
            self.problems.add("unreadable-annotation", f"{shown}: no image_id or no category_id")
            self._lose(owner)
            return
        area = parse_number(element.get("area"))
        self.boxes.extend((*corners, float("nan") if area is None else area))
        place = self.owner_ids.setdefault(owner, len(self.owner_ids))
        slot = self.slot_of.setdefault(category, len(self.slot_of))
        kept = identity if isinstance(identity, int) and abs(identity) < 2**63 else _NONE
        flags = int(parse_flag(element.get("iscrowd"))) + 2 * int(parse_flag(element.get("difficult")))
        self.owners.extend((place, slot, kept, flags))

    def _lose(self, owner: Any) -> None:
        if isinstance(owner, int | str):
            self.lost[owner] = self.lost.get(owner, 0) + 1

    def finished(self, name: str, split: str | None) -> CocoFile:
        import numpy as np

        if self.seen < {"images", "annotations"} and not self.images:
            missing = ", ".join(sorted({"images", "annotations"} - self.seen))
            raise UnreadableAnnotation(f"this is not a COCO dataset: it has no {missing}", where=self.path)
        positions = np.full(len(self.owner_ids) + 1, -1, np.int64)
        for owner, place in self.owner_ids.items():
            positions[place] = self._position(owner)
        self._same_categories()
        table = np.array(self.owners, np.int64).reshape(-1, 4)
        of_image = positions[table[:, 0]]
        self._strangers(of_image, table)
        order = np.argsort(of_image, kind="stable")
        starts = np.searchsorted(of_image[order], np.arange(len(self.images) + 1))
        return CocoFile(
            name, self.split or split, self.images, self.categories, self.problems.problems(), self.boxes, self.owners,
            list(self.slot_of), array("q", starts.tolist()), array("q", order.tolist()),
            {self._position(owner): count for owner, count in self.lost.items()},
        )  # fmt: skip

    def _position(self, owner: Any) -> int:
        return self.positions.get(owner, self.positions.get(_other_id_type(owner), -1))

    def _same_categories(self) -> None:
        """An id that is 1 in one place of the file and "1" in another is one id."""
        for category in self.slot_of:
            if category not in self.categories and _other_id_type(category) in self.categories:
                self.categories[category] = self.categories[_other_id_type(category)]

    def _strangers(self, of_image: Any, table: Any) -> None:
        """Annotations of images and categories that the file does not list."""
        owners = list(self.owner_ids)
        for at in (of_image < 0).nonzero()[0]:
            owner = owners[table[at, 0]]
            self.problems.add(
                "annotation-without-image", f"annotation {table[at, 2]}: no image has id {owner!r}"
            )
        slots = list(self.slot_of)
        unknown = [slot for slot, category in enumerate(slots) if category not in self.categories]
        for slot in unknown:
            count = int((table[:, 1] == slot).sum())
            for _ in range(count):
                among = "among the categories" if self.categories else 'named: the file has no "categories"'
                self.problems.add("unknown-class", f"category_id {slots[slot]!r} is not {among}")


def _id(value: Any) -> Any:
    """An id as pandas writes it, 7.0, is 7."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _other_id_type(identity: Any) -> Any:
    """The id in the other type that it may have been written in: 7 for "7", "7" for 7."""
    if isinstance(identity, str):
        return int(identity) if identity.isascii() and identity.isdigit() and len(identity) < 19 else None
    return str(identity)


def _box(element: dict[str, Any]) -> tuple[float, float, float, float] | None:
    box = element.get("bbox")
    if isinstance(box, list) and len(box) == 4:
        values = [parse_number(value) for value in box]
        if None not in values:
            x, y, w, h = (value for value in values if value is not None)
            return x, y, w, h
        return None
    return None if box else box_of(element.get("segmentation"))
