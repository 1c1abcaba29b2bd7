"""COCO, VOC and YOLO written. Each writer is given the names of the images and returns nothing but files."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from xml.sax.saxutils import escape

from holdfast.data.files.file_index import without_suffix
from holdfast.data.files.name_index import digest_of, repeated_digests
from holdfast.data.files.yolo_pairs import STANDARD_FOLDERS
from holdfast.data.formats import label_map
from holdfast.data.formats.voc import ONE_BASED
from holdfast.data.formats.yolo import SIDECAR
from holdfast.data.images.exif import boxes_frame, turned_upright
from holdfast.data.images.image_file import header
from holdfast.data.records import Box, Dataset, Record
from holdfast.data.writing.atomic_output import Staging
from holdfast.data.writing.named_records import NamedRecords
from holdfast.data.writing.output_names import class_numbers, image_numbers
from holdfast.errors import DataError


def size_of(record: Record) -> tuple[int, int] | None:
    """The declared size, or the image's own."""
    facts = None if record.image.declared_size else header(record.image)
    return record.image.declared_size or (facts.upright_size if facts else None)


# -- COCO ---------------------------------------------------------------------------------------


def write_coco(dataset: Dataset, named: NamedRecords, staging: Staging) -> None:
    """annotations/instances_SPLIT.json and images/; "instances_all" where there are no splits."""
    numbers = class_numbers(dataset, first=0)
    for split, part in named.splits().items():
        parts = (text.encode("utf-8", "surrogatepass") for text in _coco_document(split, part, numbers))
        staging.write_parts(f"annotations/instances_{_file_part(split)}.json", parts)


def _coco_document(split: str | None, part: NamedRecords, numbers: dict[str, int]) -> Iterator[str]:
    """Piece by piece: the document of millions of images would not fit into memory."""
    image_ids = image_numbers(record.id for record in part.records)
    yield f'{{"info": {_json({"split": split})}, "images": ['
    yield from _listed(_coco_images(part, image_ids))
    yield '], "annotations": ['
    yield from _listed(_coco_annotations(part, image_ids, numbers))
    categories = [
        {"id": number, "name": name} for name, number in sorted(numbers.items(), key=lambda item: item[1])
    ]
    yield f'], "categories": {_json(categories)}}}'


def _coco_images(part: NamedRecords, image_ids: Sequence[int]) -> Iterator[dict[str, Any]]:
    for (record, name), number in zip(part, image_ids, strict=True):
        width, height = size_of(record) or (None, None)
        image = {"id": number, "file_name": name, "width": width, "height": height}
        yield image if str(number) == record.id else {**image, "source_id": record.id}


def _coco_annotations(
    part: NamedRecords, image_ids: Sequence[int], numbers: dict[str, int]
) -> Iterator[dict[str, Any]]:
    keep, count = _have_own_ids(part), 0
    for record, number in zip(part.records, image_ids, strict=True):
        for box in record.boxes:
            _refuse_not_finite(box, record)
            count += 1
            given = {"id": box.id if keep else count, "image_id": number}
            yield {**given, "category_id": numbers[box.name], **_coco_box(box)}


def _have_own_ids(part: NamedRecords) -> bool:
    """Whether every box has one, and no two the same."""
    ids = (box.id for record in part.records for box in record.boxes)
    return None not in ids and not repeated_digests(
        digest_of(str(box.id)) for record in part.records for box in record.boxes
    )


def _listed(elements: Iterable[dict[str, Any]]) -> Iterator[str]:
    for number, element in enumerate(elements):
        yield f"{', ' if number else ''}{_json(element)}"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _coco_box(box: Box) -> dict[str, Any]:
    area = box.area if box.area is not None else box.width * box.height
    flags = {"difficult": 1} if box.difficult else {}
    return {"bbox": [box.x1, box.y1, box.width, box.height], "area": area, "iscrowd": int(box.crowd), **flags}


def _refuse_not_finite(box: Box, record: Record) -> None:
    if not all(math.isfinite(corner) for corner in box.corners):
        raise DataError(
            "a box holds NaN or infinity, which cannot be written",
            where=record.source or record.image.path,
            found=f"{record.file_name}: {box.corners}",
            change="`holdfast data repair SRC DST` writes a copy without such boxes",
        )


def _file_part(split: str | None) -> str:
    return "all" if split is None else split.replace("/", "_")


# -- Pascal VOC ---------------------------------------------------------------------------------


def write_voc(dataset: Dataset, named: NamedRecords, staging: Staging) -> None:
    """Annotations/, JPEGImages/, ImageSets/Main/ and the label map, which VOC itself has no place for."""
    for record, name in named:
        staging.write(
            f"Annotations/{without_suffix(name)}.xml", _voc_document(record, name).encode("utf-8", "replace")
        )
    for split, part in named.splits().items():
        if split is not None:
            lines = ((without_suffix(name) + "\n").encode("utf-8", "replace") for _, name in part)
            staging.write_parts(f"ImageSets/Main/{_file_part(split)}.txt", lines)
    numbers = class_numbers(dataset, first=0)
    labels = [label_map.Label(number, name) for name, number in numbers.items()]
    staging.write("label_map.pbtxt", label_map.render(labels).encode("utf-8", "replace"))


def _voc_document(record: Record, name: str) -> str:
    width, height = size_of(record) or (0, 0)
    folder = "JPEGImages"
    objects = "".join(_voc_object(box) for box in record.boxes)
    return (
        f"<annotation>\n  <folder>{folder}</folder>\n  <filename>{_xml(name)}</filename>\n"
        f"  <source><database>holdfast</database><annotation>{ONE_BASED}</annotation>"
        f"<imageid>{_xml(record.id)}</imageid></source>\n"
        f"  <size><width>{width}</width><height>{height}</height><depth>3</depth></size>\n"
        f"  <segmented>0</segmented>\n{objects}</annotation>\n"
    )


def _voc_object(box: Box) -> str:
    extra = "<iscrowd>1</iscrowd>" if box.crowd else ""
    extra += f"<id>{box.id}</id>" if box.id is not None else ""
    extra += f"<area>{box.area!r}</area>" if box.area is not None else ""
    x1, y1, x2, y2 = (_plain(value) for value in (box.x1 + 1, box.y1 + 1, box.x2, box.y2))
    return (
        f"  <object><name>{_xml(box.name)}</name><pose>Unspecified</pose><truncated>0</truncated>"
        f"<difficult>{int(box.difficult)}</difficult>{extra}"
        f"<bndbox><xmin>{x1}</xmin><ymin>{y1}</ymin><xmax>{x2}</xmax><ymax>{y2}</ymax></bndbox></object>\n"
    )


def _plain(value: float) -> str:
    return str(int(value)) if math.isfinite(value) and value == int(value) else repr(value)


def _xml(text: str) -> str:
    allowed = "".join(char if char >= " " or char in "\t\n" else "\ufffd" for char in text)
    return escape(allowed).replace("\r", "&#13;")


# -- YOLO ---------------------------------------------------------------------------------------


def yolo_image_path(record: Record, name: str) -> str:
    """images/SPLIT/NAME, without saying the split twice; "rest" is for records that have none.

    Readers put `labels` for the last `images` of a path, so no other folder in it may be called so.
    """
    split = "rest" if record.split is None else _file_part(record.split)
    *folders, base = name.removeprefix(split + "/").split("/")
    renamed = [part + "_" if part.lower().rstrip("_") in STANDARD_FOLDERS else part for part in folders]
    return "/".join(("images", split, *renamed, base))


def write_yolo(dataset: Dataset, named: NamedRecords, staging: Staging) -> None:
    """images/, labels/, data.yaml, and holdfast.json for what YOLO has no place for."""
    import yaml

    index = dataset.index()
    for record, name in named:
        label = "labels/" + without_suffix(yolo_image_path(record, name).removeprefix("images/")) + ".txt"
        staging.write(label, _yolo_lines(record, index).encode())
    places: dict[str, str] = {}
    splits = dict.fromkeys(record.split for record in named.records)
    for split in splits:
        folder = "rest" if split is None else _file_part(split)
        key = "train" if split is None and len(splits) == 1 else _yolo_key(folder)
        places[folder if key in places else key] = f"images/{folder}"
    settings = {"path": ".", **places, "names": dict(enumerate(dataset.classes))}
    staging.write(
        "data.yaml", yaml.safe_dump(settings, allow_unicode=True, sort_keys=False).encode("utf-8", "replace")
    )
    ids = {
        name: number
        for name, number in zip(dataset.classes, dataset.class_ids, strict=False)
        if number is not None
    }
    parts = (text.encode("utf-8", "replace") for text in _yolo_sidecar(ids, named))
    staging.write_parts(SIDECAR, parts)


def _yolo_sidecar(ids: dict[str, int], named: NamedRecords) -> Iterator[str]:
    yield f'{{"class_ids": {json.dumps(ids, ensure_ascii=False)}, "records": {{'
    for number, (record, name) in enumerate(named):
        notes = (yolo_image_path(record, name), _yolo_notes(record))
        key, value = (json.dumps(one, ensure_ascii=False) for one in notes)
        yield f"{', ' if number else ''}{key}: {value}"
    yield "}}"


def _yolo_key(split: str) -> str:
    lowered = split.lower()
    return "train" if lowered.startswith("train") else "val" if lowered.startswith("val") else lowered


def _yolo_lines(record: Record, index: dict[str, int]) -> str:
    if not record.boxes:
        return ""
    facts = header(record.image)
    size = facts.upright_size if facts else record.image.declared_size
    if size is None:
        raise DataError(
            "YOLO needs the size of every image, and this one cannot be read",
            where=record.image.path,
            change="`holdfast data repair SRC DST --to yolo` leaves such images out",
        )
    width, height = size
    boxes, declared = record.boxes, record.image.declared_size
    if facts and boxes_frame(facts.size, facts.orientation, declared, boxes, record.frame).name == "stored":
        boxes = tuple(turned_upright(box, facts.size, facts.orientation) for box in boxes)
    return "".join(
        f"{index[box.name]} {(box.x1 + box.x2) / 2 / width:.12g} {(box.y1 + box.y2) / 2 / height:.12g} "
        f"{box.width / width:.12g} {box.height / height:.12g}\n"
        for box in boxes
    )


def _yolo_notes(record: Record) -> dict[str, Any]:
    notes: dict[str, Any] = {"id": record.id, "file_name": record.file_name, "split": record.split}
    boxes = [
        {
            **({"crowd": True} if box.crowd else {}),
            **({"difficult": True} if box.difficult else {}),
            **({"id": box.id} if box.id is not None else {}),
            **({"area": box.area} if box.area is not None else {}),
        }
        for box in record.boxes
    ]
    return {**notes, "boxes": boxes} if any(boxes) else notes
