"""YOLO: one text file an image, `class cx cy width height` as fractions of the upright image.

An image without a text file has nothing in it. Lines of a segmentation dataset hold a polygon instead;
the box is what encloses it. Flags and ids have no place in the format: our writer keeps them beside it,
in holdfast.json.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import Any

from holdfast.data.dataset_reader import ParsedEntry, Problem, SourceEntry
from holdfast.data.files import filesystem, text_encoding
from holdfast.data.files.file_index import FileIndex, folder_of, without_suffix
from holdfast.data.files.name_index import NameIndex
from holdfast.data.files.packed_list import PackedList
from holdfast.data.files.parse_numbers import parse_integer, parse_number, snap
from holdfast.data.files.splits import bare_split, split_in_path
from holdfast.data.files.unseen_names import UnseenNames
from holdfast.data.files.yolo_pairs import LARGEST_TXT_BYTES, SplitImage, labels_of, selected_images
from holdfast.data.formats.yolo_line import has_decimal_commas, has_score, read_line
from holdfast.data.images.image_file import upright_size
from holdfast.data.records import Box, ImageRef, Record
from holdfast.errors import HoldfastError, UnreadableAnnotation

SIDECAR = "holdfast.json"
_NAMES_FILES = (
    "classes.txt", "obj.names", "names.txt", "labels.txt", "predefined_classes.txt", "_darknet.labels",
)  # fmt: skip
#: A number can be read in one way only: with `\d+\.?\d*` a line of twenty numbers and a word takes hours.
_LINE = re.compile(
    rb"\s*\d+(\.0+)?(\s+[-+]?(\d+([.,]\d*)?|[.,]\d+|nan|inf)(e[-+]?\d+)?){4,}\s*", re.IGNORECASE
)


#: The image, its split, and its text file.
YoloImage = tuple[str, str | None, str | None]


@dataclass(frozen=True, slots=True)
class YoloSource:
    path: str
    listing: FileIndex
    images: Sequence[YoloImage]
    by_name: NameIndex
    names: dict[int, str]
    noted: tuple[Problem, ...]
    sidecar: dict[str, Any] = field(default_factory=dict, repr=False)
    keypoints: int = 0  # numbers that follow the box in each line, of a pose dataset
    own_names: dict[str, dict[int, str]] = field(default_factory=dict)  # of folders with a list that differs
    format: str = "yolo"
    relative: bool = True

    @property
    def folder_images(self) -> Sequence[str]:
        return PackedList(name for name, _, _ in self.images)

    def entries(self) -> Iterator[SourceEntry]:
        return (self._entry(image) for image in self.images if image[2] is not None)

    def negatives(self, images: Iterable[str]) -> Iterator[SourceEntry]:
        for name in images:
            found = (self.images[at] for at in self.by_name.positions(name))
            yield self._entry(next((image for image in found if image[0] == name), (name, None, None)))

    def _entry(self, image: YoloImage) -> SourceEntry:
        name, split, label = image
        return SourceEntry(name, split, content=(label, self._notes(name)))

    def class_ids(self) -> dict[str, int]:
        kept = self.sidecar.get("class_ids")
        known = kept if isinstance(kept, dict) else {}
        return {name: _int_or(known.get(name), index) for index, name in self.names.items()}

    def problems(self) -> tuple[Problem, ...]:
        return self.noted

    def for_workers(self) -> YoloSource:
        listing = self.listing.without_files()
        return replace(self, listing=listing, images=(), by_name=NameIndex(), noted=(), sidecar={})

    def parse(self, entry: SourceEntry) -> ParsedEntry:
        path = self.listing.path(entry.key)
        label, notes = entry.content
        identity = str(notes.get("id") or _without_images(without_suffix(entry.key)))
        name = str(notes.get("file_name") or _without_images(entry.key))
        kept = notes.get("split", entry.split)
        split = kept if isinstance(kept, str) else None
        if label is None:
            return ParsedEntry(Record(identity, name, ImageRef(path), (), split))
        file = self.listing.path(label)
        try:
            data = filesystem.read_bytes(file, 0, LARGEST_TXT_BYTES + 1)
        except HoldfastError as error:
            return ParsedEntry(None, (Problem("unreadable-annotation", file, error.what),))
        if len(data) > LARGEST_TXT_BYTES:
            return ParsedEntry(
                None, (Problem("unreadable-annotation", file, "the file is larger than 32 MiB"),)
            )
        lines = [line for line in text_encoding.text(data).splitlines() if line.strip()]
        size = upright_size(ImageRef(path)) if lines else None
        width, height = size or (1, 1)
        problems: list[Problem] = []
        names = self.own_names.get(folder_of(label), self.names)
        boxes = list(self._boxes(lines, (width, height), notes.get("boxes"), file, names, problems))
        # Without the image's size the fractions mean nothing; the image itself is reported elsewhere.
        kept_boxes = tuple(boxes) if size else ()
        record = Record(identity, name, ImageRef(path), kept_boxes, split, file, frame="upright")
        return ParsedEntry(record, tuple(problems), len(lines) - len(record.boxes))

    def _boxes(
        self,
        lines: list[str],
        size: tuple[int, int],
        notes: Any,
        file: str,
        names: dict[int, str],
        problems: list[Problem],
    ) -> Iterator[Box]:
        kept = notes if isinstance(notes, list) and len(notes) == len(lines) else [{}] * len(lines)
        scored = [position for position, line in enumerate(lines, 1) if has_score(line, self.keypoints)]
        if scored:
            said = f"line {scored[0]}: {lines[scored[0] - 1].strip()[:60]!r} has a sixth number, taken for a score"
            problems.append(Problem("score-column", file, said, len(scored)))
        commas = [position for position, line in enumerate(lines, 1) if has_decimal_commas(line)]
        if commas:
            said = f"line {commas[0]}: {lines[commas[0] - 1].strip()[:60]!r}"
            problems.append(Problem("decimal-commas", file, said, len(commas)))
        for position, (line, note) in enumerate(zip(lines, kept, strict=True), 1):
            index, corners = read_line(line, names, self.keypoints)
            if isinstance(corners, str) or index is None:
                problems.append(Problem("unreadable-annotation", file, f"line {position}: {corners}"))
                continue
            name = names.get(index, str(index) if not names else None)
            if name is None:
                said = f"line {position}: class {index}, and the names go from 0 to {max(names)}"
                problems.append(Problem("unknown-class", file, said, numbers=(index,)))
                continue
            x1, y1, x2, y2 = (
                snap(value * extent, extent * 1e-6) for value, extent in zip(corners, size * 2, strict=True)
            )
            flags = note if isinstance(note, dict) else {}
            yield Box(
                x1, y1, x2, y2, name, crowd=flags.get("crowd") is True, difficult=flags.get("difficult") is True,
                id=parse_integer(flags.get("id")), area=parse_number(flags.get("area")),
            )  # fmt: skip

    def _notes(self, image: str) -> dict[str, Any]:
        records = self.sidecar.get("records")
        notes = records.get(image) if isinstance(records, dict) else None
        return notes if isinstance(notes, dict) else {}


# -- opening ------------------------------------------------------------------------------------


def open_folder(listing: FileIndex) -> YoloSource | None:
    """The folder with the YAML that describes it, if one does: the least deep, or one of the usual names."""
    yamls = [
        name for name in listing.with_suffix(".yaml", ".yml") if looks_like_yolo_yaml(listing.path(name))
    ]
    yamls.sort(
        key=lambda name: (name.count("/"), name.rsplit("/", 1)[-1] not in ("data.yaml", "dataset.yaml"), name)
    )
    darknet = [name for name in listing.with_suffix(".data") if _darknet(listing.path(name))]
    return open_source(listing, next(iter((*yamls, *darknet)), None))


def open_source(listing: FileIndex, yaml_name: str | None) -> YoloSource | None:
    """The images and text files of a folder; None when no text file is YOLO's and no YAML says so."""
    yaml_path = listing.path(yaml_name) if yaml_name else None
    settings = _settings(yaml_path) if yaml_path else {}
    texts = [name for name in listing.with_suffix(".txt") if name.rsplit("/", 1)[-1] not in _NAMES_FILES]
    if not yaml_name and len(texts) < 50 and not any(_is_yolo(listing.path(name)) for name in texts):
        return None
    everything = listing.images()
    images: Sequence[SplitImage] = PackedList((name, split_in_path(name)) for name in everything)
    noted: list[Problem] = _broken_yamls(listing) if not yaml_name else []
    if yaml_name:
        images = selected_images(listing, settings, yaml_name, everything, noted) or images
    labels = labels_of((name for name, _ in images), texts)
    found = (label for label in labels if label is not None)
    if not yaml_name and not any(_is_yolo(listing.path(name)) for name in islice(found, 50)):
        return None
    if yaml_name and all(label is None for label in labels) and texts:
        said = f"{len(texts)} text files, and none belongs to an image as YOLO's do, such as {texts[0]}"
        noted.append(Problem("unreadable-annotation", listing.path(texts[0]), said))
    unused = UnseenNames(texts)
    # Also of images that the YAML does not name.
    for label in chain(labels, labels_of(everything, texts) if len(everything) > len(images) else ()):
        if label is not None:
            unused.see(label)
    lonely = [name for name in unused if _is_yolo(listing.path(name))]
    noted += [
        Problem("annotation-without-image", listing.path(name), "no image has this name") for name in lonely
    ]
    names, shape = _names(settings, listing), settings.get("kpt_shape")
    if not yaml_name:
        names_above, shape = _names_above(listing)
        names = names or names_above
    noted += _name_problems(names, settings, yaml_path or listing.root)
    rows = PackedList((*image, label) for image, label in zip(images, labels, strict=True))
    noted += _of_another_split(rows, listing)
    declared = yaml_path if settings.get("names") else None
    own, more = _lists_of_folders(listing, rows, names, declared)
    return YoloSource(
        yaml_path or listing.root, listing, rows, NameIndex(name for name, _ in images), names, (*noted, *more),
        _sidecar(listing), _numbers_after_box(shape), own,
    )  # fmt: skip


def _of_another_split(images: Iterable[YoloImage], listing: FileIndex) -> list[Problem]:
    """`labels/val/a.txt` for `images/train/a.jpg`: found by its name, where other programs do not look."""
    first, count = ("", ""), 0
    for name, _, text in images:
        here, there = split_in_path(name), split_in_path(text or "")
        if text and here and there and bare_split(here) != bare_split(there):
            first, count = first if count else (name, text), count + 1
    said = f"its image is {first[0]}"
    return [Problem("label-in-another-split", listing.path(first[1]), said, count)] if count else []


def _lists_of_folders(
    listing: FileIndex, images: Iterable[YoloImage], names: dict[int, str], declared: str | None
) -> tuple[dict[str, dict[int, str]], list[Problem]]:
    """LabelImg writes a list of classes into each folder, in the order in which it met them there.

    The list of a folder is what its texts were written with, unless a YAML (`declared`) says what all numbers mean.
    """
    own: dict[str, dict[int, str]] = {}
    noted: list[Problem] = []
    folders = {folder_of(text) for _, _, text in images if text is not None}
    for file in listing.files:
        folder = folder_of(file)
        if file.rsplit("/", 1)[-1] != "classes.txt" or folder not in folders:
            continue
        listed = _lines_of(listing.path(file))
        differ = [at for at in listed if at in names and listed[at].strip() != names[at].strip()]
        if differ:
            kept = f"{declared} is what counts" if declared else "each folder is read with its own list"
            said = f"{differ[0]} is {listed[differ[0]]!r} here and {names[differ[0]]!r} elsewhere; {kept}"
            noted.append(Problem("class-lists-disagree", listing.path(file), said))
            if declared is None:
                own[folder] = listed
    return own, noted


def _lines_of(path: str) -> dict[int, str]:
    lines = text_encoding.text(filesystem.read_bytes(path, 0, 4 << 20)).splitlines()
    return {index: line for index, line in enumerate(lines) if line.strip()}


def _numbers_after_box(shape: Any) -> int:
    """`kpt_shape: [17, 3]`: 17 points of 3 numbers follow the box in each line."""
    if not isinstance(shape, list) or len(shape) != 2:
        return 0
    points, numbers = (parse_integer(value) or 0 for value in shape)
    return points * numbers if 0 < points < 10_000 and 0 < numbers < 10 else 0


def _name_problems(names: dict[int, str], settings: dict[str, Any], path: str) -> list[Problem]:
    found = [
        Problem("damaged-text", path, f"the class {name!r} has bytes that are not UTF-8")
        for name in names.values()
        if text_encoding.DAMAGED in name
    ]
    declared = parse_integer(settings.get("nc"))
    if declared is not None and names and declared != len(names):
        said = f"nc is {declared}, and there are {len(names)} names"
        found.append(Problem("class-count-disagrees", path, said))
    return found


def _broken_yamls(listing: FileIndex) -> list[Problem]:
    """A data.yaml that cannot be parsed would take the class names with it, in silence."""
    found = []
    for name in listing.with_suffix(".yaml", ".yml"):
        path = listing.path(name)
        try:
            if re.search(
                rb"(?m)^\s*names\s*:", text_encoding.as_utf8(filesystem.read_bytes(path, 0, 1 << 20))
            ):
                read_yaml(path)
        except HoldfastError as error:
            found.append(Problem("unreadable-annotation", path, "; ".join((error.what, *error.found))))
    return found


def read_yaml(path: str) -> dict[str, Any]:
    import yaml

    try:
        # All scalars as text, and nothing but lists and tables built: a class called `no` stays "no".
        document = yaml.load(filesystem.read_bytes(path, 0, 1 << 20), Loader=yaml.BaseLoader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        said = str(error).replace("\n", " ")[:200]
        raise UnreadableAnnotation("the YAML cannot be read", where=path, found=said) from None
    if not isinstance(document, dict) or "names" not in document:
        keys = (
            ", ".join(map(str, list(document)[:8])) if isinstance(document, dict) else type(document).__name__
        )
        raise UnreadableAnnotation(
            "the YAML has no `names`, so it is not YOLO's data.yaml", where=path, found=f"it has {keys}",
            change="add the classes in the order of their numbers: names: [cat, dog]",
        )  # fmt: skip
    return document


def _settings(path: str) -> dict[str, Any]:
    return _darknet(path) if path.endswith(".data") else read_yaml(path)


def _darknet(path: str) -> dict[str, Any]:
    """The lists of images that darknet's `obj.data` names; nothing where this is no such file."""
    try:
        text = text_encoding.text(filesystem.read_bytes(path, 0, 1 << 16))
    except HoldfastError:
        return {}
    pairs = (line.split("=", 1) for line in text.splitlines() if "=" in line)
    found = {key.strip(): value.strip() for key, value in pairs}
    return (
        {key: found[key] for key in ("train", "valid", "test") if found.get(key)} if "names" in found else {}
    )


def looks_like_yolo_yaml(path: str) -> bool:
    try:
        document = read_yaml(path)
    except HoldfastError:
        return False
    return any(key in document for key in ("train", "val", "test", "path", "nc"))


def _without_images(name: str) -> str:
    parts = name.split("/")
    return "/".join([part for part in parts[:-1] if part.lower() != "images"] + parts[-1:])


def _is_yolo(path: str) -> bool:
    try:
        head = text_encoding.as_utf8(filesystem.read_bytes(path, 0, 4096))
    except HoldfastError:
        return False
    first = head.strip().split(b"\n")[0]
    return _LINE.fullmatch(first) is not None


def _names(settings: dict[str, Any], listing: FileIndex) -> dict[int, str]:
    names = settings.get("names")
    if isinstance(names, str) and names not in ("", "null", "~") and not names.endswith((".names", ".txt")):
        return {0: names}
    if isinstance(names, list):  # also as `- {id: 0, name: cell}`
        names = [name.get("name", "") if isinstance(name, dict) else name for name in names]
    pairs = enumerate(names) if isinstance(names, list) else names.items() if isinstance(names, dict) else ()
    # Scalars only: a nested alias of YAML would be written out in full, which can be without end.
    found = {parse_integer(key): str(name) for key, name in pairs if isinstance(name, str | int | float)}
    if found:
        return {index: name for index, name in found.items() if index is not None}
    for wanted in (*_NAMES_FILES, ".names"):  # darknet calls it as it likes: voc.names
        for name in listing.files:
            if name.endswith(wanted) if wanted == ".names" else name.rsplit("/", 1)[-1] == wanted:
                return _lines_of(listing.path(name))
    return {}


def _names_above(listing: FileIndex) -> tuple[dict[int, str], Any]:
    """Of `data/train` given alone: the names, and the shape of keypoints, that lie in `data`."""
    above = filesystem.parent(listing.root.rstrip("/"))
    for name in ("data.yaml", "dataset.yaml", "data.yml", *_NAMES_FILES):
        path = filesystem.join(above, name) if above else name
        try:
            if filesystem.exists(path):
                settings = read_yaml(path) if name.endswith(("yaml", "yml")) else {}
                return _names(settings, FileIndex(above or ".", (name,))), settings.get("kpt_shape")
        except HoldfastError:
            continue
    return {}, None


def _int_or(value: object, otherwise: int) -> int:
    found = parse_integer(value)
    return otherwise if found is None else found


def _sidecar(listing: FileIndex) -> dict[str, Any]:
    if SIDECAR not in listing.files:
        return {}
    try:
        document = json.loads(filesystem.read_bytes(listing.path(SIDECAR), 0, 1 << 30))
    except (ValueError, RecursionError, HoldfastError):
        return {}
    return document if isinstance(document, dict) else {}
