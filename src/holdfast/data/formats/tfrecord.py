"""TFRecord of the TF Object Detection API, with its label map; read at random access, without TensorFlow.

Boxes are fractions of the image. `class/text` wins over `class/label`, because the writer that ships with
the API for COCO leaves the label out.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from holdfast.data.dataset_reader import ParsedEntry, Problem, SourceEntry
from holdfast.data.files import filesystem
from holdfast.data.files.file_index import FileIndex, portable, siblings, suffix_of
from holdfast.data.files.parse_numbers import snap
from holdfast.data.files.splits import split_in_name, split_in_path
from holdfast.data.files.tfrecord_framing import BrokenFrame, RecordFrame, frames, looks_framed, read_frame
from holdfast.data.formats import label_map
from holdfast.data.formats.tf_example import Example, IsASequence, NotAnExample, parse_example
from holdfast.data.formats.tfrecord_images import ImagesBeside, images_beside, names_in
from holdfast.data.images.image_file import HEADER_BYTES, ImageFacts, header, header_of
from holdfast.data.records import Box, ImageRef, Record
from holdfast.errors import HoldfastError, UnreadableAnnotation

SUFFIXES = (".record", ".tfrecord", ".tfrecords", ".records", ".tfrec")
_SHARD = re.compile(r"-\d{5}-of-\d{5}(\.\w+)?$")
_NUMBERED = re.compile(r"(.*)-(\d{5})-of-(\d{5})(\.\w+)?", re.DOTALL)
_BOX = "image/object/bbox/"


@dataclass(frozen=True, slots=True)
class TfrecordSource:
    path: str
    root: str
    shards: tuple[str, ...]  # relative to root
    labels: tuple[label_map.Label, ...]
    noted: tuple[Problem, ...]
    off_by_one: bool = False  # all numbers differ from the label map's by the same one
    format: str = "tfrecord"
    relative: bool = True
    beside: ImagesBeside | None = None  # the images, where the records do not hold them
    folder_images: Sequence[str] = ()

    def entries(self) -> Iterator[SourceEntry]:
        for shard in self.shards:
            split = split_in_path(shard) or split_in_name(shard)
            for position, found in enumerate(_index(filesystem.join(self.root, shard))):
                if isinstance(found, RecordFrame):
                    yield SourceEntry(shard, split, position, found.offset, found.length)
                else:  # the length is not known: parse() says what is wrong there
                    yield SourceEntry(shard, split, position, found.offset, -1)

    def negatives(self, images: Iterable[str]) -> Iterator[SourceEntry]:
        return iter(())

    def class_ids(self) -> dict[str, int]:
        return {label.name: label.id for label in self.labels}

    def problems(self) -> tuple[Problem, ...]:
        return self.noted

    def for_workers(self) -> TfrecordSource:
        return self

    def parse(self, entry: SourceEntry) -> ParsedEntry:
        shard = filesystem.join(self.root, entry.key)
        try:
            with filesystem.open_binary(shard) as handle:
                if entry.length < 0:
                    return _lost(shard, entry)
                data = read_frame(handle, RecordFrame(entry.offset, entry.length))
        except HoldfastError as error:
            return _unreadable(shard, entry, error.what)
        if data is None:
            detail = f"record {entry.position} at byte {entry.offset}: the checksum of its data is wrong"
            return ParsedEntry(None, (Problem("corrupt-record", shard, detail),))
        try:
            return self._record(parse_example(data), shard, entry)
        except NotAnExample as error:
            return _unreadable(shard, entry, str(error))

    def _record(self, example: Example, shard: str, entry: SourceEntry) -> ParsedEntry:
        encoded = example.slices("image/encoded")
        if not encoded and self.beside is not None:
            return self._beside(example, shard, entry, self.beside)
        if not encoded:
            keys = ", ".join(sorted(example.features)[:6]) or "no features at all"
            return _unreadable(shard, entry, f"it has no image/encoded; it has {keys}")
        part = encoded[0]
        declared = _first(example, "image/width"), _first(example, "image/height")
        facts = header_of(example.data[part.start : min(part.stop, part.start + HEADER_BYTES)])
        name = (
            example.text("image/filename")
            or example.text("image/source_id")
            or f"{entry.key}-{entry.position}"
        )
        identity = example.text("image/source_id") or name
        where = f"{shard}, record {entry.position} ({name})"
        size = _frame_size(declared, facts)
        boxes, problems = self._boxes(example, size, where)
        image = ImageRef(shard, entry.offset + part.start, part.stop - part.start, *declared)
        split = example.text("image/split") or entry.split  # our writer's, where a file's name cannot say it
        said = max(len(example.features.get(_BOX + key, ())) for key in ("xmin", "ymin", "xmax", "ymax"))
        frame = "" if facts is None else "upright" if size == facts.upright_size else "stored"
        record = Record(identity, name, image, tuple(boxes), split, where, frame)
        return ParsedEntry(record, tuple(problems), said - len(boxes))

    def _beside(self, example: Example, shard: str, entry: SourceEntry, beside: ImagesBeside) -> ParsedEntry:
        declared = _first(example, "image/width"), _first(example, "image/height")
        image = beside.find(example, entry.key, declared)
        if image is None:
            return _unreadable(shard, entry, "it has no image/encoded, and names no image file")
        name = names_in(example)[0]
        facts = header(image)
        size = _frame_size(declared, facts)
        boxes, problems = self._boxes(example, size, f"{shard}, record {entry.position} ({name})")
        said = max(len(example.features.get(_BOX + key, ())) for key in ("xmin", "ymin", "xmax", "ymax"))
        frame = "" if facts is None else "upright" if size == facts.upright_size else "stored"
        identity = example.text("image/source_id") or name
        split = example.text("image/split") or entry.split
        record = Record(
            identity, portable(name), image, tuple(boxes), split, f"{shard}, record {entry.position}", frame
        )
        return ParsedEntry(record, tuple(problems), said - len(boxes))

    def _boxes(
        self, example: Example, size: tuple[int, int] | None, where: str
    ) -> tuple[list[Box], list[Problem]]:
        columns = [example.numbers(_BOX + key) for key in ("xmin", "ymin", "xmax", "ymax")]
        lengths = [len(column) for column in columns]
        if len(set(lengths)) > 1:
            said = f"xmin, ymin, xmax, ymax have {', '.join(map(str, lengths))} values"
            return [], [Problem("unreadable-annotation", where, said)]
        count = lengths[0]
        if count and size is None:
            return [], [
                Problem("unreadable-annotation", where, "neither the record nor the image gives a size")
            ]
        names, problems = self._names(example, count, where)
        width, height = size or (1, 1)
        crowds = _flags(example, "is_crowd", "group_of")
        difficult, ids = _flags(example, "difficult"), example.whole_numbers("image/object/id")
        areas = example.numbers("image/object/area")
        boxes = [
            Box(
                _pixels(x1, width),
                _pixels(y1, height),
                _pixels(x2, width),
                _pixels(y2, height),
                names[place] or "",
                crowd=place in crowds,
                difficult=place in difficult,
                id=ids[place] if len(ids) == count else None,
                area=areas[place] if len(areas) == count else None,
            )
            for place, (x1, y1, x2, y2) in enumerate(zip(*columns, strict=True))
            if names[place] is not None
        ]
        return boxes, problems

    def _names(self, example: Example, count: int, where: str) -> tuple[list[str | None], list[Problem]]:
        texts = [text.decode("utf-8", "replace") for text in example.bytes_of("image/object/class/text")]
        numbers = example.whole_numbers("image/object/class/label")
        if (
            len(texts) not in (0, count)
            or len(numbers) not in (0, count)
            or (count and not texts and not numbers)
        ):
            said = f"{count} boxes, {len(texts)} class texts and {len(numbers)} class labels"
            return [None] * count, [Problem("unreadable-annotation", where, said)]
        by_id = {label.id: label.name for label in self.labels}
        by_text = {key: label.id for label in self.labels for key in (label.display_name, label.name) if key}
        if not texts:
            if not by_id:
                return [str(value) for value in numbers], []
            unknown = sorted({value for value in numbers if value not in by_id})
            said = f"class label {', '.join(map(str, unknown[:5]))} is not in the label map"
            return [by_id.get(value) for value in numbers], [
                Problem("unknown-class", where, said, numbers=tuple(unknown))
            ] if unknown else []
        return list(texts), self._disagreements(texts, numbers, by_text, where)

    def _disagreements(
        self, texts: list[str], numbers: list[int], by_text: dict[str, int], where: str
    ) -> list[Problem]:
        if not by_text:
            return []
        unknown = sorted({text for text in texts if text not in by_text})
        problems = [
            Problem("unknown-class", where, f"class {name!r} is not in the label map") for name in unknown[:5]
        ]
        for text, value in sorted(set(zip(texts, numbers, strict=False))):
            expected = by_text.get(text)
            if expected is not None and value != expected:
                slug = "class-id-off-by-one" if self.off_by_one else "class-id-disagrees"
                problems.append(
                    Problem(slug, where, f"{text!r} has label {value}; the label map says {expected}")
                )
        return problems


def _index(shard: str) -> Iterator[RecordFrame | BrokenFrame]:
    try:
        with filesystem.open_binary(shard) as handle:
            handle.seek(0, os.SEEK_END)
            yield from frames(handle, handle.tell())
    except HoldfastError as error:
        yield BrokenFrame(0, error.what, 0)


def _lost(shard: str, entry: SourceEntry) -> ParsedEntry:
    why = next(
        (found for found in _index(shard) if isinstance(found, BrokenFrame)),
        BrokenFrame(0, "it was changed", 0),
    )
    detail = (
        f"from byte {why.offset} on (record {entry.position}): {why.why}; {why.lost_bytes} bytes are lost"
    )
    return ParsedEntry(None, (Problem("corrupt-record", shard, detail),))


def _unreadable(shard: str, entry: SourceEntry, why: str) -> ParsedEntry:
    return ParsedEntry(None, (Problem("unreadable-annotation", shard, f"record {entry.position}: {why}"),))


def _first(example: Example, key: str) -> int | None:
    values = example.whole_numbers(key)
    return values[0] if values and 1 < values[0] < 2**31 else None  # 1 and -1 are the decoders' defaults


def _frame_size(declared: tuple[int | None, int | None], facts: ImageFacts | None) -> tuple[int, int] | None:
    """What the fractions are of: the declared size where the image bears it out, else the real one."""
    width, height = declared
    if facts is None:
        return (width, height) if width and height else None
    if width and height and (width, height) == facts.upright_size:
        return width, height
    return facts.size


def _pixels(fraction: float, size: int) -> float:
    return snap(fraction * size, size * 2.0**-22)  # a float32 fraction has 24 bits


def _flags(example: Example, *keys: str) -> set[int]:
    return {
        place
        for key in keys
        for place, on in enumerate(example.whole_numbers(f"image/object/{key}"))
        if on == 1
    }


# -- opening ------------------------------------------------------------------------------------


def is_shard_name(name: str) -> bool:
    suffix = suffix_of(name)  # the Hugging Face Hub numbers Parquet files in the same way
    return suffix in SUFFIXES or (suffix not in (".parquet", ".arrow") and _SHARD.search(name) is not None)


def open_folder(listing: FileIndex, label_maps: list[str]) -> TfrecordSource | None:
    """The shards of a folder, with its label maps or the only one beside it."""
    return open_source(listing, label_maps or label_maps_above(listing.root))


def label_maps_above(root: str) -> list[str]:
    """Of shards in a folder without a label map: the only one beside that folder, or in `annotations` there."""
    if filesystem.is_url(root):
        return []
    found = [
        f"../{place}{name}"
        for place in ("", "annotations/", "label_maps/")
        if os.path.isdir(filesystem.join(root, f"../{place}"))
        for name in siblings(filesystem.join(root, f"../{place}"), "").with_suffix(".pbtxt")
    ]
    return found if len(found) == 1 else []


def open_source(listing: FileIndex, label_maps: list[str], path: str | None = None) -> TfrecordSource | None:
    """The shards of a listing; label maps are files of it. None when it has no shard."""
    shards: list[str] = []
    noted: list[Problem] = []
    for name in listing.files:
        if is_shard_name(name):
            refused = _refused(listing.path(name))
            shards += [] if refused else [name]
            noted += [refused] if refused else []
    if not shards and not noted:
        return None
    if path is None:  # of a folder; whoever names a shard or a pattern means those
        noted += _missing_shards(listing)
    used = _first_classes(listing, shards)
    labels = _with_display_names(_fitting_labels(listing, used, label_maps, noted), used)
    return TfrecordSource(
        path or listing.root, listing.root, tuple(shards), labels, tuple(noted), _off_by_one(labels, used),
        beside=images_beside(listing, shards),
    )  # fmt: skip


def _with_display_names(
    labels: tuple[label_map.Label, ...], used: set[tuple[str, int]]
) -> tuple[label_map.Label, ...]:
    """The labels by their display names, where these are what the records hold: `Cat`, and not /m/01yrx."""
    texts = {text for text, _ in used if text}
    names, shown = {label.name for label in labels}, {label.display_name for label in labels}
    if not texts or texts & names or not texts <= shown:
        return labels
    return tuple(replace(label, name=label.display_name or label.name) for label in labels)


def _missing_shards(listing: FileIndex) -> list[Problem]:
    """`x-00001-of-00003` is not there, and others of the three are."""
    present: dict[tuple[str, int, str], set[int]] = {}
    for name in listing.files:
        found = _NUMBERED.fullmatch(name)
        if found and is_shard_name(name):
            stem, place, count, suffix = (group or "" for group in found.groups())
            present.setdefault((stem, int(count), suffix), set()).add(int(place))
    problems = []
    for (stem, count, suffix), places in present.items():
        lost = [place for place in range(count) if place not in places]
        if lost:
            first = f"{stem}-{lost[0]:05d}-of-{count:05d}{suffix}"
            said = f"{len(lost)} of {count} shards are not there, such as {first.rsplit('/', 1)[-1]}"
            problems.append(Problem("missing-shard", listing.path(first), said, len(lost)))
    return problems


def _refused(path: str) -> Problem | None:
    """Why nothing in the shard can be used; None for a good one."""

    def problem(detail: str, remedy: str = "") -> Problem:
        return Problem("unreadable-annotation", path, detail, remedy=remedy)

    try:
        start = filesystem.read_bytes(path, 0, 16)
        if not start:
            return problem("the file is empty: its writer had no images, or was never closed")
        if not looks_framed(start):  # asked first: the length of a good first record may begin as these do
            return problem(*_not_framed(start, path))
        with filesystem.open_binary(path) as handle:
            first = next(frames(handle, handle.seek(0, os.SEEK_END)), None)
            data = read_frame(handle, first) if isinstance(first, RecordFrame) else None
        if data is not None:
            parse_example(data)
    except IsASequence as error:
        return problem(str(error), "write one tf.train.Example per image")
    except NotAnExample:
        return None
    except HoldfastError as error:
        return problem(error.what)
    return None


def _not_framed(start: bytes, path: str) -> tuple[str, str]:
    """What a file is that has no TFRecord at its start, and what to do about it."""
    if start.startswith(b"\x1f\x8b"):
        unpack = f"gunzip < {shlex.quote(path)} > unpacked.tfrecord; or write it without compression"
        return "the file is compressed with gzip, and compressed records cannot be read one by one", unpack
    if start[0] == 0x78 and int.from_bytes(start[:2]) % 31 == 0:  # RFC 1950, 2.2
        rewrite = "write it again without compression_type, or unpack it with Python's zlib"
        return "the file is compressed with zlib, and compressed records cannot be read one by one", rewrite
    return "this is not a TFRecord file: the checksum of the first record is wrong", ""


def _fitting_labels(
    listing: FileIndex, used: set[tuple[str, int]], label_maps: list[str], noted: list[Problem]
) -> tuple[label_map.Label, ...]:
    """The label map that agrees best with the first records; a folder may hold those of other datasets.

    The only one of the folder is meant, also where it names none of the classes: a program that looks classes up by
    their names then trains on boxes without a class.
    """
    best: tuple[float, tuple[label_map.Label, ...]] = (0.0, ())
    for name in label_maps:
        try:
            labels = label_map.read(
                filesystem.read_bytes(listing.path(name), 0, label_map.LARGEST_BYTES + 1), name
            )
        except UnreadableAnnotation as error:
            noted.append(Problem("unreadable-annotation", listing.path(name), error.what))
            continue
        meant = 1e-9 if len(label_maps) == 1 and not name.startswith("../") else 0.0
        best = max(best, (_agreement(labels, used) + meant, labels), key=lambda scored: scored[0])
    return best[1]


def _off_by_one(labels: tuple[label_map.Label, ...], used: set[tuple[str, int]]) -> bool:
    """Two classes that changed places differ by one too, the one up and the other down."""
    ids = {text: label.id for label in labels for text in (label.display_name, label.name) if text}
    return {value - ids[text] for text, value in used if text in ids and value >= 0} in ({1}, {-1})


def _agreement(labels: tuple[label_map.Label, ...], used: set[tuple[str, int]]) -> float:
    texts = {text for label in labels for text in (label.name, label.display_name) if text}
    pairs = {(text, label.id) for label in labels for text in (label.name, label.display_name, "")}
    known = sum(text in texts or (not text and ("", value) in pairs) for text, value in used)
    exact = sum((text, value) in pairs for text, value in used)
    return (known + 0.1 * exact) / max(1, len(used)) + (1e-6 if not used else 0.0)


def _first_classes(listing: FileIndex, shards: list[str]) -> set[tuple[str, int]]:
    used: set[tuple[str, int]] = set()
    for shard in shards[:10]:
        source = TfrecordSource("", listing.root, (shard,), (), ())
        for _, entry in zip(range(20), source.entries(), strict=False):
            try:
                with filesystem.open_binary(listing.path(shard)) as handle:
                    data = (
                        read_frame(handle, RecordFrame(entry.offset, entry.length))
                        if entry.length >= 0
                        else None
                    )
                example = parse_example(data or b"")
            except (HoldfastError, NotAnExample):
                continue
            texts = [text.decode("utf-8", "replace") for text in example.bytes_of("image/object/class/text")]
            numbers = example.whole_numbers("image/object/class/label")
            longest = max(len(texts), len(numbers))
            texts += [""] * (longest - len(texts))
            numbers += [-1] * (longest - len(numbers))
            used |= set(zip(texts, numbers, strict=True))
    return used
