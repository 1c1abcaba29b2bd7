"""Pascal VOC: one XML file an image, splits in ImageSets/Main.

The devkit counts pixels from 1 and means both corners inclusive, so `(1, 1, 640, 480)` is the whole
image; inside, that is `(0, 0, 640, 480)`. Many tools write the same XML counting from 0: a single 0
among the corners of a dataset shows that, and then nothing is subtracted.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from holdfast.data.dataset_reader import ParsedEntry, Problem, SourceEntry, ambiguous_image, wrong_image
from holdfast.data.files import filesystem, text_encoding
from holdfast.data.files.file_index import (
    FileIndex,
    ImageFinder,
    folder_of,
    is_image,
    stem_of,
    without_suffix,
)
from holdfast.data.files.name_index import NameIndex
from holdfast.data.files.packed_list import PackedList
from holdfast.data.files.parse_numbers import parse_flag, parse_number, parse_size
from holdfast.data.files.splits import split_in_path
from holdfast.data.formats import label_map
from holdfast.data.records import Box, ImageRef, Record
from holdfast.errors import HoldfastError, UnreadableAnnotation

LARGEST_XML_BYTES = 64 << 20
ONE_BASED = "1-based, inclusive"  # what our writer leaves in <source><annotation>
_STANDARD_FOLDERS = frozenset(("annotations", "jpegimages", "images", "labels", "label", "xml", "xmls"))
_ZERO_CORNER = re.compile(rb"<[xy]min>\s*0+(?:\.0*)?\s*<")


@dataclass(frozen=True, slots=True)
class VocSource:
    path: str
    listing: FileIndex
    finder: ImageFinder
    files: Sequence[str]
    splits: dict[str, str]
    ids: dict[str, int]
    zero_based: bool
    format: str = "voc"
    relative: bool = False
    noted: tuple[Problem, ...] = field(default=())
    stems: NameIndex = field(default_factory=NameIndex, repr=False)  # of the XML files

    @property
    def folder_images(self) -> Sequence[str]:
        # A file that was given by name says nothing about the images around it.
        return self.finder.images if self.path == self.listing.root else ()

    def entries(self) -> Iterator[SourceEntry]:
        # One set of lists is for all files, wherever they are; of several, each is for its own devkit.
        listed = {known.partition("/ImageSets/")[0] for known in self.splits}
        for name in self.files:
            devkit = _devkit(name) if len(listed) > 1 else next(iter(listed), "")
            known = (_split_key(devkit, identity) for identity in (record_id(name), stem_of(name)))
            split = next((self.splits[one] for one in known if one in self.splits), None)
            yield SourceEntry(name, split or split_in_path(name))

    def negatives(self, images: Iterable[str]) -> Iterator[SourceEntry]:
        return iter(())  # in VOC a negative has an XML file without objects

    def class_ids(self) -> dict[str, int]:
        return self.ids

    def problems(self) -> tuple[Problem, ...]:
        return self.noted

    def for_workers(self) -> VocSource:
        return replace(self, listing=self.listing.without_files(), files=(), splits={}, noted=())

    def parse(self, entry: SourceEntry) -> ParsedEntry:
        file = self.listing.path(entry.key)
        try:
            data = filesystem.read_bytes(file, 0, LARGEST_XML_BYTES + 1)
            if text_encoding.is_lfs_pointer(data):
                pointer = Problem("annotation-not-downloaded", file, "this is a Git LFS pointer")
                return ParsedEntry(None, (pointer,))
            root = parse_xml(data, file)
        except HoldfastError as error:
            return ParsedEntry(None, (Problem("unreadable-annotation", file, _xml_error_text(error)),))
        name = _text(root, "filename") or stem_of(entry.key)
        found = self.finder.find(name, near=entry.key, stem=stem_of(entry.key))
        own = self.finder.own(found, entry.key, self.stems)
        problems = [
            *(wrong_image(own, found, file) or ambiguous_image(self.finder, name, found, entry.key, file))
        ]
        found = own or found
        path = self.listing.path(found) if found else self.finder.expected(name, entry.key)
        before = len(problems)
        boxes = list(self._boxes(root, file, problems))
        lost = len(problems) - before
        width, height = parse_size(_text(root, "size/width")), parse_size(_text(root, "size/height"))
        marked = ONE_BASED in (_text(root, "source/annotation") or "")
        identity = (root.findtext("source/imageid") if marked else None) or record_id(entry.key)
        file_name = (root.findtext("filename") if marked else None) or (_shown(found) if found else name)
        record = Record(
            identity, file_name, ImageRef(path, width=width, height=height), tuple(boxes), entry.split, file
        )
        return ParsedEntry(record, tuple(problems), lost)

    def _boxes(self, root: Any, file: str, problems: list[Problem]) -> Iterator[Box]:
        origin = (_text(root, "source/annotation") or "") + (_text(root, "source/database") or "")
        exact = ONE_BASED in origin
        one_based = exact or "VOC" in origin or not self.zero_based
        for number_of, element in enumerate(root.iter("object"), 1):
            corners = _corners(element)
            label = _label(element.findtext("name"))
            if isinstance(corners, str) or not label:
                said = corners if isinstance(corners, str) else "it has no <name>"
                problems.append(Problem("unreadable-annotation", file, f"object {number_of}: {said}"))
                continue
            x1, y1, x2, y2 = corners
            # A click without a drag has equal corners in every tool; one pixel wide, it would pass for a box.
            # A centre and a size (roLabelImg's) are not counted pixels.
            counted = element.find("bndbox") is not None or element.find("robndbox") is None
            if one_based and counted and (exact or (x1 < x2 and y1 < y2)):
                x1, y1 = x1 - 1, y1 - 1
            yield Box(
                x1, y1, x2, y2, label,
                crowd=parse_flag(_text(element, "iscrowd")),
                difficult=parse_flag(_text(element, "difficult")),
                id=_id(_text(element, "id")) if exact else None,
                area=_area(_text(element, "area")) if exact else None,
            )  # fmt: skip


def open_folder(listing: FileIndex, label_maps: list[str]) -> VocSource | None:
    """The VOC files of a folder, with the ids of its label map."""
    return open_source(listing, _ids(listing, label_maps))


def _ids(listing: FileIndex, label_maps: list[str]) -> dict[str, int]:
    """Class ids of the only label map of a folder; of several, nobody can tell which is meant."""
    if len(label_maps) != 1:
        return {}
    try:
        labels = label_map.read(filesystem.read_bytes(listing.path(label_maps[0])), label_maps[0])
    except HoldfastError:
        return {}
    return {label.name: label.id for label in labels}


def open_source(listing: FileIndex, ids: dict[str, int]) -> VocSource | None:
    """The VOC files of a folder, or None when it has none."""
    files = _voc_files(listing)
    if not files:
        return None
    noted: list[Problem] = []
    splits = _image_sets(listing, files, noted)
    return VocSource(
        path=listing.root,
        listing=listing,
        finder=ImageFinder.of(listing.root, listing.images()),
        files=files,
        splits=splits,
        ids=ids,
        zero_based=_counts_from_zero(listing, files),
        noted=tuple(noted),
        stems=NameIndex(map(stem_of, files)),
    )


def _voc_files(listing: FileIndex) -> Sequence[str]:
    """The XML files of every folder in which one of the first few is VOC; damaged ones among them count."""
    names = listing.with_suffix(".xml")
    if not names:
        return names
    first: dict[str, list[str]] = {}
    for name in names:
        few = first.setdefault(folder_of(name), [])
        few += [name] if len(few) < 5 else []
    voc = {
        folder for folder, few in first.items() if any(_looks_like_voc(listing.path(name)) for name in few)
    }
    images = NameIndex(map(stem_of, listing.images()))
    return PackedList(
        name
        for name in names
        if folder_of(name) in voc and (stem_of(name) in images or not _is_other_xml(listing.path(name)))
    )


def _looks_like_voc(path: str) -> bool:
    """Anything called .xml counts, unless it plainly is another kind of XML."""
    try:
        head = filesystem.read_bytes(path, 0, 4096)
    except HoldfastError:
        return True
    return re.search(rb"<annotation[\s>]", text_encoding.as_utf8(head)) is not None or not re.search(
        rb"<(annotations|dataset|svg|project|html|plist|data)\b", head
    )


def _is_other_xml(path: str) -> bool:
    """Whole, and with another root: somebody's settings beside the annotations."""
    try:
        data = filesystem.read_bytes(path, 0, LARGEST_XML_BYTES)
        if re.search(rb"<annotation[\s>]", text_encoding.as_utf8(data[:4096])):
            return False
        parse_xml(data, path)
    except UnreadableAnnotation as error:
        return error.what.startswith("the root is")
    except HoldfastError:
        return False
    return False


def _counts_from_zero(listing: FileIndex, files: Sequence[str]) -> bool:
    for name in files:
        try:
            if _ZERO_CORNER.search(filesystem.read_bytes(listing.path(name), 0, LARGEST_XML_BYTES)):
                return True
        except HoldfastError:
            continue
    return False


def _image_sets(listing: FileIndex, files: Sequence[str], noted: list[Problem]) -> dict[str, str]:
    """Image to split, by the devkit and the name: VOC2007 and VOC2012 beside one another have lists of their own."""
    devkits: dict[str, dict[str, str]] = {}
    for name in listing.with_suffix(".txt"):
        devkit, main, _ = f"/{name}".rpartition("/ImageSets/Main/")
        if main:
            devkits.setdefault(devkit.lstrip("/"), {})[stem_of(name)] = name
    splits: dict[str, str] = {}
    if not devkits:
        return splits
    there = {known for name in (*files, *listing.images()) for known in (record_id(name), stem_of(name))}
    for devkit, names in devkits.items():
        for split, name in _splits_among(names):
            try:
                text = text_encoding.text(filesystem.read_bytes(listing.path(name), 0, LARGEST_XML_BYTES))
            except HoldfastError:
                continue
            lines = [line.strip(" \t\r") for line in text.split("\n") if line.strip(" \t\r")]
            absent = [line for line in lines if there.isdisjoint((line, _bare(line), stem_of(_bare(line))))]
            if absent:
                said = f"{len(absent)} of {len(lines)} have neither image nor annotation, such as {absent[0]}"
                noted.append(Problem("listed-but-absent", listing.path(name), said, len(absent)))
            for line in lines:
                splits[_split_key(devkit, line)] = split
                for known in (_bare(line), without_suffix(_bare(line)) if is_image(_bare(line)) else ""):
                    splits.setdefault(_split_key(devkit, known), split) if known else None
    return splits


def _splits_among(lists: dict[str, str]) -> list[tuple[str, str]]:
    """Without the lists of one class, which repeat the whole, and without a `trainval` of two that are there."""
    kept = {
        split: name
        for split, name in lists.items()
        if not re.search(r"_(train|val|trainval|test)$", split)
        and split.rpartition("_")[2] not in {*lists} - {split}
    }
    if {"train", "val"} & {*kept}:
        kept.pop("trainval", None)
    return sorted(kept.items())


def _split_key(devkit: str, image: str) -> str:
    return f"{devkit}/ImageSets/{image}"


def _devkit(name: str) -> str:
    """The folder that an XML file's `Annotations` is in."""
    parts = folder_of(name).split("/")
    at = next((at for at, part in enumerate(parts) if part.lower() in _STANDARD_FOLDERS), len(parts))
    return "/".join(parts[:at])


def _bare(line: str) -> str:
    """Without the 1 or -1 that says whether a class is in the image."""
    return re.sub(r"\s+-?[01]$", "", line)


def record_id(name: str) -> str:
    """The path without extension and without the folders that every VOC tree has."""
    parts = without_suffix(name).split("/")
    for position, part in enumerate(parts[:-1]):
        if part.lower() == "annotations":
            return "/".join(parts[position + 1 :])
    return "/".join([part for part in parts[:-1] if part.lower() not in _STANDARD_FOLDERS] + parts[-1:])


def _shown(found: str) -> str:
    parts = found.split("/")
    for position, part in enumerate(parts[:-1]):
        if part.lower() == "jpegimages":
            return "/".join(parts[position + 1 :])
    return "/".join([part for part in parts[:-1] if part.lower() not in _STANDARD_FOLDERS] + parts[-1:])


def parse_xml(
    data: bytes, file: str, *, root_tag: str = "annotation", largest: int = LARGEST_XML_BYTES
) -> Any:
    """The root element; entities, external references and documents of other kinds are refused."""
    import xml.etree.ElementTree as quick

    from defusedxml import ElementTree
    from defusedxml.common import DefusedXmlException

    if len(data) > largest:
        raise UnreadableAnnotation(f"the XML file is larger than {largest >> 20} MiB", where=file)
    if not data.strip():
        raise UnreadableAnnotation("the file is empty", where=file)
    try:
        root = quick.fromstring(data) if _has_no_document_type(data) else ElementTree.fromstring(data)
    except DefusedXmlException as error:
        raise UnreadableAnnotation(
            f"the XML defines entities, which is refused: {type(error).__name__}", where=file
        ) from None
    except Exception as error:
        raise UnreadableAnnotation(f"this is not XML: {error}{_hint(data)}", where=file) from None
    if isinstance(root.tag, str) and root.tag.startswith("{"):
        for element in root.iter():
            element.tag = str(element.tag).rpartition("}")[2]  # a namespace, which no reader of VOC expects
    if root.tag != root_tag:
        raise UnreadableAnnotation(f"the root is <{str(root.tag)[:40]}>, not <{root_tag}>", where=file)
    return root


def _hint(data: bytes) -> str:
    """Why text that looks like XML is none: the two slips of programs that write it by hand."""
    if re.search(rb"&(?!#?\w+;)", data):
        return "; an & stands alone in it: write &amp;"
    try:
        data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return f"; byte 0x{data[error.start]:02x} in line {line} is not UTF-8: save the file as UTF-8"
    return ""


_ENCODING = re.compile(rb"""<\?xml[^>]*encoding\s*=\s*["']([^"']*)""")


def _has_no_document_type(data: bytes) -> bool:
    """No place for entities, in an encoding in which that can be seen; then the fast parser is safe."""
    encoding = _ENCODING.match(data[:200].lstrip())
    readable = encoding is None or encoding.group(1).lower() in (
        b"utf-8",
        b"us-ascii",
        b"ascii",
        b"iso-8859-1",
    )
    return readable and b"<!DOCTYPE" not in data and b"<!ENTITY" not in data and b"\0" not in data


def _corners(element: Any) -> tuple[float, float, float, float] | str:
    # find(), not iter(): a polygon or a part before the object's own bndbox has points of its own.
    box = element.find("bndbox")
    if box is None:
        return _polygon(element) if element.find("robndbox") is None else _rotated(element.find("robndbox"))
    texts = {str(child.tag).lower(): (child.text or "").strip() for child in box}
    values = [parse_number(texts.get(key)) for key in ("xmin", "ymin", "xmax", "ymax")]
    missing = [
        key for key, value in zip(("xmin", "ymin", "xmax", "ymax"), values, strict=True) if value is None
    ]
    if missing:
        return f"its bndbox has no number for {', '.join(missing)}"
    x1, y1, x2, y2 = (value for value in values if value is not None)
    return x1, y1, x2, y2


def _rotated(box: Any) -> tuple[float, float, float, float] | str:
    """The box around roLabelImg's turned one: centre, size and an angle in radians."""
    values = [parse_number((box.findtext(key) or "").strip()) for key in ("cx", "cy", "w", "h", "angle")]
    known = [value for value in values if value is not None]
    if len(known) < 5 or not all(map(math.isfinite, known)):
        return "its robndbox has no number for cx, cy, w, h or angle"
    x, y, width, height, angle = known
    across, down = abs(math.cos(angle)), abs(math.sin(angle))
    half_x, half_y = (width * across + height * down) / 2, (width * down + height * across) / 2
    return x - half_x, y - half_y, x + half_x, y + half_y


def _polygon(element: Any) -> tuple[float, float, float, float] | str:
    """The box around `<polygon><x1>..</x1><y1>..</y1>…` or `<pt><x/><y/></pt>`."""
    polygon = element.find("polygon")
    if polygon is None:
        return "it has no <bndbox>"
    points = [(child.tag, parse_number((child.text or "").strip())) for child in polygon.iter()]
    xs = [value for tag, value in points if re.fullmatch(r"x\d*", str(tag)) and value is not None]
    ys = [value for tag, value in points if re.fullmatch(r"y\d*", str(tag)) and value is not None]
    if len(xs) < 2 or len(ys) < 2:
        return "it has no <bndbox> and its polygon has fewer than two points"
    return min(xs), min(ys), max(xs), max(ys)


def _text(element: Any, path: str) -> str | None:
    text = (element.findtext(path) or "").strip(" \t\r\n")  # a no-break space may be part of a name
    return text or None


def _label(text: str | None) -> str:
    """The class as it is written, a stray space included: "crack " is another class to every trainer."""
    return ((text.strip() if "\n" in text else text) if text.strip() else "") if text else ""


def _id(text: str | None) -> int | None:
    return int(text) if text and re.fullmatch(r"-?\d{1,19}", text) else None


def _area(text: str | None) -> float | None:
    value = parse_number(text)
    return value if value is not None and math.isfinite(value) else None


def _xml_error_text(error: HoldfastError) -> str:
    return error.what + (f" ({'; '.join(error.found)})" if error.found else "")
