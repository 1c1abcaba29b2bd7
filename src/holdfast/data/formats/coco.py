"""COCO JSON: images, annotations and categories in one file a split; boxes are `[x, y, width, height]`."""

from __future__ import annotations

import json
import os
import re
import struct
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from holdfast.data.dataset_reader import ParsedEntry, Problem, ProblemList, SourceEntry, ambiguous_image
from holdfast.data.files import filesystem, text_encoding
from holdfast.data.files.file_index import FileIndex, ImageFinder, display_name, folder_of
from holdfast.data.files.json_stream import BadJson, top_level
from holdfast.data.files.packed_list import TOGETHER, ByteStore, PackedList, PackedWriter
from holdfast.data.files.parse_numbers import parse_flag, parse_number, parse_size
from holdfast.data.files.splits import split_in_name, split_in_path
from holdfast.data.formats.coco_masks import box_of
from holdfast.data.formats.label_map import disagreeing_lists, shift_of_numbers
from holdfast.data.records import Box, ImageRef, Record
from holdfast.data.tables.coco_join import ANNOTATION, NONE, ODD_OWNER, ImageIds, Joined, other_id_type
from holdfast.errors import HoldfastError, UnreadableAnnotation

_OTHER_TASKS = re.compile(r"(person_keypoints|captions|stuff|panoptic|image_info)", re.IGNORECASE)

_ANNOTATION, _ID = struct.Struct(ANNOTATION), struct.Struct("<q")


@dataclass(frozen=True, slots=True)
class CocoImage:
    """What a file says of one image; the annotations as they are packed."""

    id: str
    name: str
    width: int | None
    height: int | None
    lost: int = 0  # annotations that cannot be read
    annotations: bytes = b""

    def __reduce__(self) -> tuple[Any, ...]:
        return CocoImage, (self.id, self.name, self.width, self.height, self.lost, self.annotations)


@dataclass(slots=True)
class CocoFile:
    name: str
    split: str | None
    images: Sequence[CocoImage]
    categories: dict[Any, str]
    problems: tuple[Problem, ...]
    slots: list[Any]  # category ids by slot


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
    def folder_images(self) -> Sequence[str]:
        # A file that was given by name says nothing about the images around it.
        return self.finder.images if self.path == self.listing.root else ()

    def entries(self) -> Iterator[SourceEntry]:
        for number_of, file in enumerate(self.files):
            for position, image in enumerate(file.images):
                yield SourceEntry(file.name, file.split, position, number_of, content=image)

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

    def for_workers(self) -> CocoSource:
        files = tuple(replace(file, images=(), problems=()) for file in self.files)
        return replace(self, listing=self.listing.without_files(), files=files, noted=())

    def parse(self, entry: SourceEntry) -> ParsedEntry:
        file, listed = self.files[entry.offset], entry.content
        found = self.finder.find(listed.name, near=entry.key)
        path = self.listing.path(found) if found else self.finder.expected(listed.name, entry.key)
        source = self.listing.path(entry.key)
        annotations = [(file.slots[one[7]], *one) for one in _ANNOTATION.iter_unpack(listed.annotations)]
        boxes = tuple(
            Box(
                x, y, x + w, y + h, file.categories[category], crowd=bool(flags & 1), difficult=bool(flags & 2),
                id=None if identity == NONE else identity, area=None if area != area else area,
            )
            for category, x, y, w, h, area, _, identity, _, flags in annotations
            if category in file.categories
        )  # fmt: skip
        image = ImageRef(path, width=listed.width, height=listed.height)
        unsure = ambiguous_image(self.finder, listed.name, found, entry.key, source)
        lost = listed.lost + len(annotations) - len(boxes)
        record = Record(listed.id, display_name(listed.name, found), image, boxes, entry.split, source)
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
            data = filesystem.read_bytes(listing.path(name), 0, 64 << 20)
            if text_encoding.is_lfs_pointer(data):
                yield Problem("annotation-not-downloaded", listing.path(name), "this is a Git LFS pointer")
                continue
            json.loads(data)
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
        noted += tuple(disagreeing_lists([(listing.path(file.name), _numbered(file)) for file in files]))
    finder = finder.knowing((image.name, file.name) for file in files for image in file.images)
    return CocoSource(path, listing, finder, tuple(files), noted)


def _numbered(file: CocoFile) -> dict[int, str]:
    return {number: name for number, name in file.categories.items() if isinstance(number, int)}


def _without_repeats(
    files: list[CocoFile], listing: FileIndex, finder: ImageFinder
) -> tuple[list[CocoFile], tuple[Problem, ...]]:
    """Without files of which most images are in a larger file of the same split: a part of it, or another task's."""
    kept: list[tuple[CocoFile, set[str]]] = []
    noted: list[Problem] = []
    by_size = sorted(files, key=lambda file: ("instances" not in file.name, -len(file.images)))
    for file in by_size:
        alone = sum(other.split == file.split for other in files) == 1
        mine = {
            finder.find(image.name, near=file.name) or image.name for image in (() if alone else file.images)
        }
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
            change=error.change,
        ) from None
    except OSError as error:
        raise filesystem.as_file_error(error, path) from None
    return reading.finished(name, split)


class _Reading:
    """Collects one file; the three arrays may come in any order."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.images = PackedWriter[CocoImage]()
        self.image_ids = ByteStore()  # 8 bytes of each image
        self.odd_ids: dict[
            Any, tuple[int, str]
        ] = {}  # position and name of images whose ids are texts, mostly
        self.categories: dict[Any, str] = {}
        self.slot_of: dict[Any, int] = {}
        self.odd_owners: dict[Any, int] = {}
        self.problems = ProblemList(path)
        self.annotations = ByteStore()
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
        elif identity in self.odd_ids:
            self._twice(str(identity), self.odd_ids[identity][1], name)
        else:
            if not _fits(identity):
                self.odd_ids[identity] = len(self.images), name
            self.image_ids.add(_ID.pack(identity if _fits(identity) else NONE))
            original = element.get("source_id")  # our writer's, for ids that are not numbers
            shown = original if isinstance(original, str) and original else str(identity)
            size = parse_size(element.get("width")), parse_size(element.get("height"))
            self.images.add(CocoImage(shown, name, *size))

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
        slot = self.slot_of.setdefault(category, len(self.slot_of))
        flags = int(parse_flag(element.get("iscrowd"))) + 2 * int(parse_flag(element.get("difficult")))
        if not _fits(owner):
            owner, flags = self.odd_owners.setdefault(owner, len(self.odd_owners)), flags + ODD_OWNER
        kept = identity if _fits(identity) else NONE
        area = float("nan") if area is None else area
        self.annotations.add(_ANNOTATION.pack(*corners, area, owner, kept, slot, flags))

    def _lose(self, owner: Any) -> None:
        if isinstance(owner, int | str):
            self.lost[owner] = self.lost.get(owner, 0) + 1

    def finished(self, name: str, split: str | None) -> CocoFile:
        import numpy as np

        if self.seen < {"images", "annotations"} and not self.images:
            missing = ", ".join(sorted({"images", "annotations"} - self.seen))
            raise UnreadableAnnotation(f"this is not a COCO dataset: it has no {missing}", where=self.path)
        images, ids = self.images.finished(), np.frombuffer(self.image_ids.view(), "<i8")
        odd = {identity: place for identity, (place, _) in self.odd_ids.items()}
        index = ImageIds(ids, odd)
        if repeated := index.repeated():
            for first, again in repeated:
                self._twice(str(ids[again]), images[first].name, images[again].name)
            gone = np.array([again for _, again in repeated])
            without = frozenset(gone.tolist())
            images = PackedList(image for at, image in enumerate(images) if at not in without)
            odd = {identity: place - int((gone < place).sum()) for identity, place in odd.items()}
            index = ImageIds(np.delete(ids, gone), odd)
        self._same_categories()
        joined = Joined(self.annotations.view(), index, list(self.odd_owners), len(images))
        self._strangers(joined, images)
        lost = Counter[int]()
        for owner, count in self.lost.items():
            lost[index.one(owner)] += count
        whole = PackedList(self._with_annotations(images, joined, lost))
        return CocoFile(
            name, self.split or split, whole, self.categories, self.problems.problems(), list(self.slot_of)
        )

    def _twice(self, identity: str, first: str, again: str) -> None:
        if first != again:  # else it is listed twice, and the same both times
            self.problems.add("duplicate-id", f"image id {identity} occurs twice: {again[:80]}")

    def _with_annotations(
        self, images: Sequence[CocoImage], joined: Joined, lost: Counter[int]
    ) -> Iterator[CocoImage]:
        remaining = enumerate(images)
        while part := list(islice(remaining, TOGETHER)):
            start = part[0][0]
            packed = joined.of_images(start, start + len(part))
            for (at, image), own in zip(part, packed, strict=True):
                yield replace(image, lost=lost[at], annotations=own)

    def _same_categories(self) -> None:
        """An id that is 1 in one place of the file and "1" in another is one id."""
        for category in self.slot_of:
            if category not in self.categories and other_id_type(category) in self.categories:
                self.categories[category] = self.categories[other_id_type(category)]

    def _strangers(self, joined: Joined, images: Sequence[CocoImage]) -> None:
        """Annotations of images and categories that the file does not list."""
        owners = list(self.odd_owners)
        for identity, owner, odd in joined.strangers():
            shown = owners[owner] if odd else owner
            self.problems.add("annotation-without-image", f"annotation {identity}: no image has id {shown!r}")
        if ids := joined.shifted(lambda: [(image.width or 0, image.height or 0) for image in images]):
            said = f"images have ids {ids[0]} to {ids[1]}, and annotations image_id {ids[2]} to {ids[3]}"
            self.problems.add("image-id-off-by-one", said)
        for slot, category in enumerate(self.slot_of):
            if category in self.categories:
                continue
            for _ in range(joined.with_slot(slot)):
                among = "among the categories" if self.categories else 'named: the file has no "categories"'
                self.problems.add("unknown-class", f"category_id {category!r} is not {among}")
        known = [category for category in self.categories if isinstance(category, int)]
        used = [category for category in self.slot_of if isinstance(category, int)]
        if shift_of_numbers(known, used):
            said = f"annotations category_id {min(used)} to {max(used)}"
            self.problems.add(
                "class-id-off-by-one", f"categories have ids {min(known)} to {max(known)}, and {said}"
            )


def _fits(identity: Any) -> bool:
    """Into a column of 64 bits."""
    return isinstance(identity, int) and abs(identity) < 2**63


def _id(value: Any) -> Any:
    """An id as pandas writes it, 7.0, is 7."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _box(element: dict[str, Any]) -> tuple[float, float, float, float] | None:
    box = element.get("bbox")
    if isinstance(box, list) and len(box) == 4:
        values = [parse_number(value) for value in box]
        if None not in values:
            x, y, w, h = (value for value in values if value is not None)
            return x, y, w, h
        return None
    return None if box else box_of(element.get("segmentation"))
