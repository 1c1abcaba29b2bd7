"""Trees as labelling tools, benchmarks and competitions lay them out; one box, BOX, in the image "a"."""

# ruff: noqa: E501  one dataset a line: broken over several, the tables cannot be read

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from holdfast.data.checking.dataset_check import DatasetPart, check
from holdfast.data.files.tfrecord_framing import framed
from holdfast.data.formats.tf_example import serialize_example
from holdfast.data.reading.load import read
from holdfast.errors import HoldfastError

from . import made
from .test_strange_sets import ANNOTATION, BOX, CATEGORY, IMAGE, LINE, put

Files = dict[str, str | bytes]
XML = made.voc_xml("a.jpg", (64, 48), [("cell", 17, 13, 48, 36)])
DOTA = "imagesource:GoogleEarth\ngsd:0.14\n16 12 48 12 48 36 16 36 cell 0\n"
WIDER = "0--Parade/a.jpg\n1\n16 12 32 24 0 0 0 0 0 0 \n"


def coco(name: str = "a.jpg", **annotation: Any) -> str:
    kept = {key: value for key, value in {**ANNOTATION, **annotation}.items() if value is not None}
    return json.dumps(
        {"images": [{**IMAGE, "file_name": name}], "annotations": [kept], "categories": [CATEGORY]}
    )


def record(text: bool = True, number: int = 1) -> bytes:
    corners = {"xmin": 0.25, "ymin": 0.25, "xmax": 0.75, "ymax": 0.75}
    features: dict[str, Any] = {f"image/object/bbox/{key}": [value] for key, value in corners.items()}
    features |= {"image/encoded": [made.image(64, 48, 3)], "image/filename": [b"a.jpg"]}
    features |= {
        "image/object/class/label": [number],
        **({"image/object/class/text": [b"cell"]} if text else {}),
    }
    return framed(serialize_example(features))


def mask(text: bool) -> dict[str, Any]:
    """BOX as runs down the columns of 64x48: 16 columns and 12 rows of nothing, then 32 times 24 and 24."""
    runs = [16 * 48 + 12, *[24] * 63, 12 + 16 * 48]
    return {"size": [48, 64], "counts": _packed(runs) if text else runs}


def _packed(runs: list[int]) -> str:
    """The mask API's own code for runs, from its description."""
    out = ""
    for at, run in enumerate(runs):
        rest = run - runs[at - 2] if at > 2 else run
        while True:
            five, rest = rest & 31, rest >> 5
            last = rest == (-1 if five & 16 else 0)
            out += chr(48 + (five if last else five | 32))
            if last:
                break
    return out


MAP = "item { id: 1 name: 'cell' }\n"
YOLO: Files = {"d/images/a.jpg": b"image", "d/labels/a.txt": LINE}
TREES: dict[str, tuple[str, Files]] = {
    "boxes as texts in a list": ("", {"a.jpg": b"image", "t.csv": "image_id,bboxes,labels\na,\"['16 12 32 24']\",\"['cell']\"\n"}),
    "boxes as texts with commas": ("", {"a.jpg": b"image", "t.csv": 'image_id,bboxes,labels\na,"[""[16, 12, 32, 24]""]","[""cell""]"\n'}),
    "GTSRB": ("", {"a.jpg": b"image", "t.csv": "Filename;Width;Height;Roi.X1;Roi.Y1;Roi.X2;Roi.Y2;ClassId\na.jpg;64;48;16;12;48;36;cell\n"}),
    "LISA": ("", {"a.jpg": b"image", "t.csv": "Filename;Annotation tag;Upper left corner X;Upper left corner Y;Lower right corner X;Lower right corner Y\na.jpg;cell;16;12;48;36\n"}),
    "corners 0 and 1": ("", {"a.jpg": b"image", "t.csv": "img,x0,y0,x1,y1,label\na.jpg,16,12,48,36,cell\n"}),
    "a box as Python prints a dict": ("", {"a.jpg": b"image", "t.csv": "image,label,bbox\na.jpg,cell,\"{'x': 16, 'y': 12, 'w': 32, 'h': 24}\"\n"}),
    "shards of Kaggle": ("", {"train00-1.tfrec": record()}),
    "names in a file called as it likes": ("", {"images/a.jpg": b"image", "labels/a.txt": LINE, "voc.names": "cell\n", "data.yaml": "train: images\nnames: voc.names\n"}),
    "ids that end like an extension": ("", {"a.3.jpg": b"image", "a.jpg": made.image(9, 9), "t.csv": "image_id,class,xmin,ymin,xmax,ymax\na.3,cell,16,12,48,36\n"}),
    "addresses as names": ("", {"a b.jpg": b"image", "t.csv": "image_url,class,xmin,ymin,xmax,ymax\nhttps://x.org/y/a%20b.jpg?sig=1,cell,16,12,48,36\n"}),
    "names as a server writes them": ("", {"images/a b.jpg": b"image", "r.json": coco("/data/upload/1/a%20b.jpg?d=1")}),
    "a mask and no box": ("", {"a.jpg": b"image", "r.json": coco(bbox=None, segmentation=mask(text=False))}),
    "a packed mask and no box": ("", {"a.jpg": b"image", "r.json": coco(bbox=None, segmentation=mask(text=True))}),
    "an outline without inner brackets": ("", {"a.jpg": b"image", "r.json": coco(bbox=None, segmentation=[16, 12, 48, 12, 48, 36, 16, 36])}),
    "darknet of Roboflow": ("", {"train/a.jpg": b"image", "train/a.txt": LINE, "train/_darknet.labels": "cell"}),
    "texts in a folder of their own": ("", {"photos/a.jpg": b"image", "annotations/a.txt": LINE, "annotations/classes.txt": "cell\n"}),
    "masks beside images of YOLO": ("", {"images/a.jpg": b"image", "labels/a.txt": LINE, "masks/a.png": made.image(format="PNG"), "classes.txt": "cell\n"}),
    "masks of the VOC devkit": ("", {"V/JPEGImages/a.jpg": b"image", "V/Annotations/a.xml": XML, "V/SegmentationClass/a.png": made.image(format="PNG"),
                                     "V/ImageSets/Main/default.txt": "a\n", "V/ImageSets/Main/cell_default.txt": "a  1\n"}),
    "settings beside the dataset": ("configs/d.yaml", {**YOLO, "configs/d.yaml": "path: ../d\ntrain: images\nnames: [cell]\n"}),
    "settings from the project's root": ("configs/d.yaml", {**YOLO, "configs/d.yaml": "path: d\ntrain: images\nnames: [cell]\n"}),
    "settings that point upwards": ("configs/d.yaml", {**YOLO, "configs/d.yaml": "train: ../d/images\nnames: [cell]\n"}),
    "a label map in annotations": ("data", {"data/train.record": record(text=False), "annotations/label_map.pbtxt": MAP}),
    "a label map above": ("data/train.record", {"data/train.record": record(text=False), "label_map.pbtxt": MAP}),
}  # fmt: skip


@pytest.mark.parametrize("kind", TREES)
def test_one_box_comes_out(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given, files = TREES[kind]
    put(tmp_path, **files)
    monkeypatch.chdir("/")
    dataset = read(str(tmp_path / given))
    assert [(box.name, *box.corners) for one in dataset.records for box in one.boxes] == [("cell", *BOX)]
    assert len(dataset.records) == 1 and len(dataset.records[0].image.read()) > 100
    report, _ = check([DatasetPart(str(tmp_path / given))], use_cache=False, processes=1)
    left = {"image-without-annotation"} if kind.startswith("ids") else set()
    assert set(made.slugs(report)) == {"rare-class"} | left


def test_boxes_between_semicolons(tmp_path: Path) -> None:
    rows = "a.jpg,16 12 48 36;1 2 33 34,x\nb.jpg,no_box,x\nc.jpg,40 30 60 45,x\n"
    put(
        tmp_path,
        **{f"{name}.jpg": b"image" for name in "abc"},
        **{"t.csv": "image_name,BoxesString,domain\n" + rows},
    )
    found = {one.file_name: [box.corners for box in one.boxes] for one in read(str(tmp_path)).records}
    assert found == {"a.jpg": [BOX, (1, 2, 33, 34)], "b.jpg": [], "c.jpg": [(40, 30, 60, 45)]}


@pytest.mark.parametrize(
    ("numbers", "slug"), [({"a": 2, "b": 1}, "class-id-disagrees"), ({"a": 0, "b": 1}, "class-id-off-by-one")]
)
def test_classes_that_changed_places_are_not_off_by_one(
    tmp_path: Path, numbers: dict[str, int], slug: str
) -> None:
    shard = b"".join(
        record(number=number).replace(b"cell", b"cel" + name.encode()) for name, number in numbers.items()
    )
    whole = b"".join(framed(part) for part in _payloads(shard))
    put(
        tmp_path,
        **{"t.record": whole, "m.pbtxt": "item { id: 1 name: 'cela' }\nitem { id: 2 name: 'celb' }\n"},
    )
    report, _ = check([DatasetPart(str(tmp_path))], use_cache=False, processes=1)
    assert made.slugs(report)[slug] == 2 and {"class-id-disagrees", "class-id-off-by-one"} & set(
        made.slugs(report)
    ) == {slug}


def _payloads(shard: bytes) -> list[bytes]:
    """The contents of records whose checksums are wrong since they were changed."""
    found, at = [], 0
    while at < len(shard):
        length = int.from_bytes(shard[at : at + 8], "little")
        found.append(shard[at + 12 : at + 12 + length])
        at += 16 + length
    return found


def test_a_dataset_without_images_is_an_error(tmp_path: Path) -> None:
    put(tmp_path, **{"data.yaml": "path: ../elsewhere\ntrain: images\nnames: [cell]\n"})
    report, _ = check([DatasetPart(str(tmp_path / "data.yaml"))], use_cache=False, processes=1)
    found = {finding.slug: finding.places[0].detail for finding in report.findings}
    assert report.spoiled and found["no-boxes"] == "no images and not one box"
    assert found["listed-but-absent"] == f"there is no image below {tmp_path}, where the YAML looks"


REFUSED: dict[str, tuple[Files, str, str]] = {
    "DOTA": ({"labelTxt/b.txt": DOTA}, "DOTA's text, four corners in pixels", "write YOLO's text"),
    "WIDER FACE": ({"split/gt.txt": WIDER}, "WIDER FACE's text", "filename, class, x, y, width, height"),
    "Ground Truth": ({"o.manifest": '{"source-ref": "s3://b/a.jpg"}\n'}, "a manifest of SageMaker Ground Truth", "export the dataset as COCO"),
    "FiftyOne": ({"labels.json": '{"classes": ["c"], "labels": {"a": [{"label": 0, "bounding_box": [0, 0, 1, 1]}]}}'}, "FiftyOne's own JSON", "COCODetectionDataset"),
}  # fmt: skip


@pytest.mark.parametrize("kind", REFUSED)
def test_refused_by_name(tmp_path: Path, kind: str) -> None:
    files, found, change = REFUSED[kind]
    put(tmp_path, **{"a.jpg": b"image"}, **files)
    with pytest.raises(HoldfastError) as caught:
        read(str(tmp_path))
    assert any(found in line for line in caught.value.found), caught.value.found
    assert any(change in line for line in caught.value.change), caught.value.change


def test_text_of_dota_beside_a_yaml_is_called_so(tmp_path: Path) -> None:
    put(
        tmp_path,
        **{
            "images/a.jpg": b"image",
            "labelTxt/a.txt": DOTA.split("\n", 2)[2],
            "data.yaml": "train: images\nnames: [cell]\n",
        },
    )
    report, _ = check([DatasetPart(str(tmp_path))], use_cache=False, processes=1)
    (found,) = [finding for finding in report.findings if finding.slug == "unreadable-annotation"]
    assert "is DOTA's: four corners in pixels, and then the class" in found.places[0].detail


def test_the_only_label_map_is_meant_though_it_names_another_class(tmp_path: Path) -> None:
    """A program that looks classes up by their names trains on boxes without a class."""
    put(tmp_path, **{"t.record": record(), "m.pbtxt": "item { id: 1 name: 'nucleus' }\n"})
    report, _ = check([DatasetPart(str(tmp_path))], use_cache=False, processes=1)
    assert made.slugs(report)["unknown-class"] == 1
    put(tmp_path, **{"other.pbtxt": "item { id: 1 name: 'leaf' }\n"})
    report, _ = check([DatasetPart(str(tmp_path))], use_cache=False, processes=1)
    assert "unknown-class" not in made.slugs(report), (
        "two maps, none of which fits: neither is known to be meant"
    )
