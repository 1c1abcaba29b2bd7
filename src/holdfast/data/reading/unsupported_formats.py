"""What lies in a folder that no reader knows, so that the answer says more than "nothing found".

Each kind is told by its content, and comes with the way from it to something that is read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from holdfast.data.files import filesystem, text_encoding
from holdfast.data.files.file_index import folder_of, is_image, suffix_of
from holdfast.data.files.parse_numbers import parse_number
from holdfast.errors import HoldfastError

SAMPLED_FILES = 5  # files that are opened
HEAD_BYTES = 1 << 16
COLUMNS = "name the columns filename, class, xmin, ymin, xmax, ymax, in any order"
_ARCHIVES = (".zip", ".tar", ".gz", ".tgz", ".bz2", ".xz", ".7z", ".rar")
_SHEETS = (".xlsx", ".xls", ".ods")


class ForeignFormat(NamedTuple):
    """What a file is, and what to do about it."""

    is_a: str
    change: str


#: Words that only files of a kind hold, and what it is. The first that fits counts.
_JSON: tuple[tuple[tuple[str, ...], ForeignFormat], ...] = (
    (('"classTitle"',), ForeignFormat("Supervisely's JSON of one image", "give the folder of its project")),
    (('"coordinates"', '"label"'), ForeignFormat("CreateML's JSON", "export it as COCO or Pascal VOC")),
    (
        ('"image_id"', '"score"'),
        ForeignFormat(
            "detections of a model (COCO results), not annotations",
            "give the annotations; `holdfast eval --detections` takes this file",
        ),
    ),
    (
        ("boundingBoxAnnotations",),
        ForeignFormat("Vertex AI's import file", "export the dataset as COCO, Pascal VOC or CSV"),
    ),
    (
        ('"segments_info"',),
        ForeignFormat("a panoptic segmentation, not boxes", "give instances_*.json of the same dataset"),
    ),
    (('"securityToken"', '"assets"'), ForeignFormat("VoTT's JSON", "export from VoTT as CSV or Pascal VOC")),
    (
        ('"box2d"',),
        ForeignFormat("BDD100K's or Scalabel's JSON", "write it as COCO, which scalabel's own to_coco does"),
    ),
    (
        ('"file_name"', '"objects"', '"bbox"'),
        ForeignFormat(
            "metadata of a Hugging Face image folder", "write CSV: file_name, class and a box a line"
        ),
    ),
    (('"source-ref"',), ForeignFormat("a manifest of SageMaker Ground Truth", "export the dataset as COCO")),
    (
        ('"bounding_box"', '"classes"', '"labels"'),
        ForeignFormat("FiftyOne's own JSON", "export from FiftyOne as COCODetectionDataset"),
    ),
    (('"caption"',), ForeignFormat("captions, not boxes", "give instances_*.json of the same dataset")),
)


def describe_foreign_files(path: str, names: list[str]) -> tuple[list[str], list[str]]:
    """What was found there and what to change, a line each; nothing where there is nothing to say."""
    found, change = [], []
    for name, known in _foreign_files(path, [name for name in names if not is_image(name)]):
        found.append(f"{name}: {known.is_a}")
        change.append(known.change)
    if not found and any(is_image(name) for name in names):
        known = _images_only([name for name in names if is_image(name)])
        found.append(known.is_a)
        change.append(known.change)
    return found, list(dict.fromkeys(change))


def _foreign_files(root: str, names: list[str]) -> Iterator[tuple[str, ForeignFormat]]:
    looked = 0
    for name in sorted(names, key=lambda name: (name.count("/"), name)):
        known = _foreign_format(filesystem.join(root, name) if root else name, suffix_of(name))
        if known is not None:
            yield name, known
            looked += 1
        if looked == SAMPLED_FILES:
            return


def _foreign_format(path: str, suffix: str) -> ForeignFormat | None:
    if suffix == ".gz" and not path.lower().endswith(".tar.gz"):
        return ForeignFormat("a file compressed with gzip", "gunzip it")
    if suffix in _ARCHIVES:
        return ForeignFormat("an archive", "unpack it, and give the folder")
    if suffix in _SHEETS:
        return ForeignFormat("a spreadsheet", f"save it as CSV; {COLUMNS}")
    if suffix not in (".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".xml", ".txt", ".manifest"):
        return None
    try:
        head = text_encoding.text(filesystem.read_bytes(path, 0, HEAD_BYTES))
    except HoldfastError as error:
        return ForeignFormat(error.what, error.change[0] if error.change else "give a file that can be read")
    if suffix in (".csv", ".tsv"):
        line = head.split("\n", 1)[0].strip()
        if "predictionstring" in line.lower():
            return ForeignFormat(
                "a submission of a competition (PredictionString), which holds guesses",
                "give the competition's training table",
            )
        return ForeignFormat(f"its first line is {line[:100]!r}, which is no header that is known", COLUMNS)
    if suffix == ".xml":
        return _xml(head)
    return _text(head) if suffix == ".txt" else _json(head)


def _xml(head: str) -> ForeignFormat:
    return ForeignFormat("XML whose root is not <annotation>", "give Pascal VOC files, one an image")


def _text(head: str) -> ForeignFormat | None:
    lines = [line for line in head.split("\n")[:4] if not re.match(r"(imagesource|gsd):", line)]
    fields = lines[0].split() if lines else []
    if (
        len(fields) in (9, 10)
        and all(parse_number(field) is not None for field in fields[:8])
        and parse_number(fields[8]) is None
    ):
        return ForeignFormat("DOTA's text, four corners in pixels and a class a line",
                     "write YOLO's text: the class and the corners as fractions of the image")  # fmt: skip
    if (
        len(lines) > 2
        and is_image(lines[0].strip())
        and lines[1].strip().isdigit()
        and len(lines[2].split()) >= 4
    ):
        return ForeignFormat("WIDER FACE's text, an image, a count and its boxes",
                     "write CSV: filename, class, x, y, width, height")  # fmt: skip
    if fields and is_image(fields[0]) and len(fields) > 1 and fields[1].count(",") == 4:
        return ForeignFormat(
            "keras-yolo3's text, an image and its boxes a line",
            "write CSV: filename, class and a box a line",
        )
    if fields and is_image(fields[0].split(",")[0]) and fields[0].count(",") >= 4:
        return ForeignFormat("a table of boxes called .txt", "give this file itself, or name it .csv")
    if len(fields) == 5 and all(parse_number(field) is not None for field in fields):
        return ForeignFormat(
            "YOLO's text, and no image here has its name", "give the folder that holds images and text"
        )
    if len(fields) in (15, 16) and fields[0].isalpha():
        return ForeignFormat(
            "KITTI's text (15 columns)", "write CSV: filename, class, and columns 5 to 8 as the box"
        )
    return None


def _json(head: str) -> ForeignFormat:
    for words, known in _JSON:
        if all(word in head for word in words):
            return known
    if not head.strip():
        return ForeignFormat("an empty file", "write the annotations again")
    return ForeignFormat(f"JSON with {_keys(head)}", "export it as COCO: images, annotations and categories")


def _keys(head: str) -> str:
    try:
        document: Any = json.loads(head)
    except (ValueError, RecursionError):
        return f"the beginning {head[:40]!r}"
    first = document[0] if isinstance(document, list) and document else document
    kind = "a list of objects with " if isinstance(document, list) else ""
    return kind + (", ".join(map(str, list(first)[:6])) if isinstance(first, dict) else "nothing in it")


def _images_only(names: list[str]) -> ForeignFormat:
    folders = sorted({folder_of(name) for name in names} - {""})
    if len(folders) > 1:
        return ForeignFormat(
            f"{len(names)} images in {len(folders)} folders ({', '.join(folders[:4])}), and no annotation file",
            "a detector learns from boxes: a folder's name labels a whole image only",
        )
    return ForeignFormat(
        f"{len(names)} image{'s' if len(names) > 1 else ''}, and no annotation file",
        "give the folder that holds the annotations too; or draw boxes, for example with labelme",
    )
