"""Datasets as tools and people leave them: each is read as it was meant, or refused with the way on."""

# ruff: noqa: E501  one dataset a line: broken over several, the tables cannot be read

from __future__ import annotations

import base64
import gzip
import json
import shutil
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holdfast.data.checking.dataset_check import DatasetPart, check
from holdfast.data.reading.load import read
from holdfast.data.writing.convert import convert
from holdfast.errors import HoldfastError

from . import made

W, H = 64, 48
BOX = (16.0, 12.0, 48.0, 36.0)
LINE = "0 0.5 0.5 0.5 0.5\n"  # the same box in YOLO's way
HEADER = "filename,width,height,class,xmin,ymin,xmax,ymax\n"
IMAGE = {"id": 7, "file_name": "a.jpg", "width": W, "height": H}
ANNOTATION = {"id": 1, "image_id": 7, "category_id": 1, "bbox": [16, 12, 32, 24]}
CATEGORY = {"id": 1, "name": "cell"}
Build = Callable[[Path], Any]


def put(folder: Path, **files: str | bytes) -> None:
    """Files by name; b"image" stands for an image that no other file equals."""
    for number, (key, content) in enumerate(files.items()):
        path = folder / key
        path.parent.mkdir(parents=True, exist_ok=True)
        if content == b"image":
            content = made.image(W, H, number + 1)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def files(contents: dict[str, str | bytes]) -> Build:
    return lambda folder: put(folder, **contents)


def one_image(**contents: str | bytes) -> Build:
    return files({"a.jpg": b"image", **contents})


def yolo(
    label: str | bytes, yaml: str | bytes = "train: images\nnames: [cell]\n", **more: str | bytes
) -> Build:
    return files({"images/a.jpg": b"image", "labels/a.txt": label, "data.yaml": yaml, **more})


def coco(
    image: Any = IMAGE, annotation: Any = ANNOTATION, category: Any = CATEGORY, encoding: str = "utf-8"
) -> Build:
    document = {"images": [image], "annotations": [annotation], "categories": [category]}
    return one_image(**{"_annotations.coco.json": json.dumps(document).encode(encoding)})


def voc(text: str, encoding: str = "utf-8", name: str = "a.xml") -> Build:
    return one_image(**{name: text.encode(encoding)})


XML = made.voc_xml("a.jpg", (W, H), [("cell", 17, 13, 48, 36)])

READ_AS_MEANT: dict[str, Build] = {
    "yolo names by number, CRLF, byte order marks": yolo("\ufeff" + LINE.replace("\n", "\r\n"), "\ufefftrain: images\r\nnames:\r\n  0: cell\r\n"),
    "yolo of another machine": yolo(LINE, "path: C:\\Users\\me\ntrain: ..\\set\\images\nnames: [cell]\n"),
    "yolo in UTF-16": yolo(LINE.encode("utf-16")),
    "yolo with decimal commas": yolo("0 0,5 0,5 0,5 0,5\n"),
    "yolo separated by commas": yolo("0,0.5,0.5,0.5,0.5\n"),
    "yolo with names in the lines": yolo("cell 0.5 0.5 0.5 0.5\n"),
    "yolo with a score": yolo("0 0.5 0.5 0.5 0.5 0.93\n"),
    "yolo polygon": yolo("0 0.25 0.25 0.75 0.25 0.75 0.75 0.25 0.75\n"),
    "yolo pose, visibility too": yolo("0 0.5 0.5 0.5 0.5 0.1 0.1 2 0.9 0.9 1\n", "train: images\nkpt_shape: [2, 3]\nnames: [cell]\n"),
    "yolo pose, points only": yolo("0 0.5 0.5 0.5 0.5 0.1 0.1 0.9 0.9\n", "train: images\nkpt_shape: [2, 2]\nnames: [cell]\n"),
    "yolo with one name as text": yolo(LINE, "train: images\nnc: 1\nnames: cell\n"),
    "yolo in capital folders": files({"Images/A.JPG": b"image", "Labels/A.TXT": LINE, "classes.txt": "cell\r\n"}),
    "yolo of darknet": files({"obj_train_data/a.jpg": b"image", "obj_train_data/a.txt": LINE, "obj.names": "cell\n", "obj.data": "classes = 1\n", "train.txt": "data/obj_train_data/a.jpg\n"}),
    "yolo with JPEGImages": files({"JPEGImages/a.jpg": b"image", "labels/a.txt": LINE, "classes.txt": "cell\n"}),
    "yolo with names as tables": yolo(LINE, "train: images\nnames:\n  - {id: 0, name: cell}\n"),
    "csv with a space after each comma": one_image(**{"l.csv": "filename, class, xmin, ymin, xmax, ymax\na.jpg, cell, 16, 12, 48, 36\n"}),
    "csv in single quotes": one_image(**{"l.csv": "filename,class,xmin,ymin,xmax,ymax\n'a.jpg','cell',16,12,48,36\n"}),
    "coco ids as text": coco({**IMAGE, "id": "7"}, {**ANNOTATION, "image_id": "7", "category_id": "1"}, {**CATEGORY, "id": "1"}),
    "coco ids as text in one place only": coco(IMAGE, {**ANNOTATION, "image_id": "7", "category_id": "1"}),
    "coco ids as numbers where text is declared": coco({**IMAGE, "id": "7"}, ANNOTATION, {**CATEGORY, "id": "1"}),
    "coco ids as floats": coco({**IMAGE, "id": 7.0}, {**ANNOTATION, "image_id": 7.0, "category_id": 1.0}, {**CATEGORY, "id": 1.0}),
    "coco with category 0": coco(IMAGE, {**ANNOTATION, "category_id": 0}, {**CATEGORY, "id": 0}),
    "coco box as text": coco(IMAGE, {**ANNOTATION, "bbox": ["16", "12", "32", "24"]}),
    "coco with a byte order mark": coco(encoding="utf-8-sig"),
    "coco in UTF-16": coco(encoding="utf-16"),
    "coco of Windows": coco({**IMAGE, "file_name": "C:\\data\\a.jpg"}),
    "voc with floats and without size": voc("<annotation><filename>a.jpg</filename><object><name>cell</name><bndbox><xmin>17.0</xmin><ymin>13.0</ymin><xmax>48.0</xmax><ymax>36.0</ymax></bndbox></object></annotation>"),
    "voc with size 0 and a path of Windows": voc("\ufeff" + made.voc_xml("D:\\x\\a.jpg", (0, 0), [("cell", 17, 13, 48, 36)]).replace("><", ">\r\n<")),
    "voc in UTF-16": voc('<?xml version="1.0" encoding="utf-16"?>' + XML, "utf-16"),
    "voc with a namespace": voc(XML.replace("<annotation>", '<annotation xmlns="http://x">')),
    "voc with xMin": voc(XML.replace("xmin", "xMin").replace("ymin", "yMin").replace("xmax", "xMax").replace("ymax", "yMax")),
    "voc called .XML": voc(XML, name="A.XML"),
    "voc of roLabelImg": voc("<annotation><filename>a.jpg</filename><object><name>cell</name><robndbox><cx>32</cx><cy>24</cy><w>24</w><h>32</h><angle>1.5707963267948966</angle></robndbox></object></annotation>"),
    "csv with semicolons and decimal commas": one_image(**{"l.csv": "filename;class;xmin;ymin;xmax;ymax\na.jpg;cell;16,0;12,0;48,0;36,0\n"}),
    "csv of VIA 2": one_image(**{"via.csv": '#filename,file_size,file_attributes,region_count,region_id,region_shape_attributes,region_attributes\na.jpg,1,"{}",1,0,"{""name"":""rect"",""x"":16,""y"":12,""width"":32,""height"":24}","{""type"":{""cell"":true}}"\n'}),
    "csv without a header, class second": one_image(**{"l.csv": "a.jpg,cell,16,12,48,36\n"}),
    "csv with centres": one_image(**{"l.csv": "filename,class,x_center,y_center,width,height\na.jpg,cell,32,24,32,24\n"}),
    "csv in UTF-16": one_image(**{"l.csv": (HEADER + "a.jpg,64,48,cell,16,12,48,36\n").encode("utf-16")}),
    "csv of pandas": one_image(**{"l.csv": ",FileName,Class,XMin,YMin,XMax,YMax\r\n0,a.jpg,cell,16,12,48,36\r\n"}),
    "csv of Windows": one_image(**{"l.csv": HEADER + "C:\\d\\a.jpg,64,48,cell,16,12,48,36\n"}),
    "labelme with a circle": one_image(**{"a.json": json.dumps({"shapes": [{"label": "cell", "shape_type": "circle", "points": [[32, 24], [32, 36]]}], "imagePath": "..\\a.jpg", "imageData": None})}),
}  # fmt: skip


@pytest.mark.parametrize("kind", READ_AS_MEANT)
def test_read_as_it_was_meant(tmp_path: Path, kind: str) -> None:
    READ_AS_MEANT[kind](tmp_path)
    dataset = read(str(tmp_path))
    (record,) = dataset.records
    (box,) = record.boxes
    wanted = (20.0, 12.0, 44.0, 36.0) if kind == "labelme with a circle" else BOX
    assert box.name == "cell" and box.corners == pytest.approx(wanted)
    assert Path(record.image.path).is_file()
    report, _ = check([DatasetPart(str(tmp_path))], use_cache=False, processes=1)
    noted = {"yolo with a score": {"score-column"}, "yolo with decimal commas": {"decimal-commas"}}
    said = noted.get(kind, set())
    assert set(made.slugs(report)) <= {"rare-class"} | said


def test_roboflow_yaml_given_as_a_file(tmp_path: Path) -> None:
    splits = {"train": "a", "valid": "b", "test": "c"}
    for split, name in splits.items():
        put(tmp_path, **{f"{split}/images/{name}.jpg": b"image", f"{split}/labels/{name}.txt": LINE})
    yaml = "train: ../train/images\nval: ../valid/images\ntest: ../test/images\nnc: 1\nnames: ['cell']\n"
    put(tmp_path, **{"data.yaml": yaml})
    dataset = read(str(tmp_path / "data.yaml"))
    assert [(record.split, record.boxes[0].corners) for record in dataset.records] == [
        ("train", BOX), ("val", BOX), ("test", BOX),
    ]  # fmt: skip


HALVES: dict[str, tuple[Build, str]] = {
    "the train folder, names above": (
        files({"train/images/a.jpg": b"image", "train/labels/a.txt": LINE, "data.yaml": "train: x\nnames: [cell]\n"}), "train"),
    "YOLO's labels": (yolo(LINE), "labels"),
    "YOLO's images": (yolo(LINE), "images"),
    "VOC's Annotations": (files({"JPEGImages/a.jpg": b"image", "Annotations/a.xml": XML}), "Annotations"),
    "COCO's annotations": (
        files({"images/a.jpg": b"image", "annotations/c.json": json.dumps(
            {"images": [IMAGE], "annotations": [ANNOTATION], "categories": [CATEGORY]})}), "annotations"),
}  # fmt: skip


@pytest.mark.parametrize("kind", HALVES)
def test_half_of_a_dataset_given_finds_the_other_half(tmp_path: Path, kind: str) -> None:
    build, given = HALVES[kind]
    build(tmp_path)
    (record,) = read(str(tmp_path / given)).records
    assert [(box.name, *box.corners) for box in record.boxes] == [("cell", *BOX)]
    assert Path(record.image.path).is_file()


def test_words_that_yaml_takes_for_truths_stay_names_and_pandas_negatives_are_negatives(
    tmp_path: Path,
) -> None:
    yolo("1 0.5 0.5 0.5 0.5\n", "train: images\nnames: [yes, no]\n")(tmp_path / "yolo")
    assert read(str(tmp_path / "yolo")).classes == ("yes", "no")
    table = "filename,class,xmin,ymin,xmax,ymax\na.jpg,cell,16,12,48,36\nb.jpg,nan,nan,nan,nan,nan\n"
    files({"a.jpg": b"image", "b.jpg": b"image", "l.csv": table})(tmp_path / "csv")
    dataset = read(str(tmp_path / "csv"))
    assert dataset.classes == ("cell",) and [len(record.boxes) for record in dataset.records] == [1, 0]


FOUND: dict[str, tuple[Build, str, str, str]] = {
    "train and val are the same": (
        yolo(LINE, "train: images\nval: images\nnames: [cell]\n"), "split-overlap", "data.yaml",
        "val names 1 images of train, such as images/a.jpg"),
    "nc is not the number of names": (
        yolo(LINE, "train: images\nnc: 3\nnames: [cell]\n"), "class-count-disagrees", "data.yaml",
        "nc is 3, and there are 1 names"),
    "a data.yaml that is none": (
        yolo(LINE, "train: images\nnames:\n\t- cell\n"), "unreadable-annotation", "data.yaml", "the YAML cannot be read"),
    "pixels in YOLO": (
        yolo("0 32 24 32 24\n"), "pixels-as-fractions", "a.txt", "a.jpg: box 1024,576,3072,1728 'cell' in an image of 64x48"),
    "corners in COCO": (
        coco(IMAGE, {**ANNOTATION, "bbox": [40, 30, 60, 46]}), "corners-as-size", "_annotations.coco.json",
        "a.jpg: box 40,30,100,76 'cell' in an image of 64x48"),
    "a mask without a box": (
        coco(IMAGE, {**ANNOTATION, "bbox": [], "segmentation": {"counts": "x", "size": [H, W]}}), "unreadable-annotation",
        "_annotations.coco.json", "annotation 1: its bbox is [] and its outline is a mask that cannot be read, not [x, y, width, height]"),
    "no categories": (
        one_image(**{"c.json": json.dumps({"images": [IMAGE], "annotations": [ANNOTATION]})}), "unknown-class", "c.json",
        'category_id 1 is not named: the file has no "categories"'),
    "Latin-1 without saying so": (
        voc(XML.replace("cell", "Zelle ä"), "latin-1"), "unreadable-annotation", "a.xml",
        "byte 0xe4 in line 1 is not UTF-8: save the file as UTF-8"),
    "a bare ampersand": (
        voc(XML.replace("cell", "nut & bolt")), "unreadable-annotation", "a.xml", "an & stands alone in it: write &amp;"),
    "letters that are lost": (
        one_image(**{"l.csv": (HEADER + "a.jpg,64,48,Zelle ä,16,12,48,36\n").encode("latin-1")}), "damaged-text", "l.csv",
        "the class 'Zelle \ufffd' has bytes that are not UTF-8"),
    "one name, two images": (
        files({"x/a.jpg": b"image", "y/a.jpg": b"image", "l.csv": HEADER + "a.jpg,64,48,cell,16,12,48,36\n"}),
        "ambiguous-picture", "l.csv", "'a.jpg' fits y/a.jpg and x/a.jpg; the first was taken"),
    "an image only inside labelme's JSON": (
        files({"a.json": json.dumps({"shapes": [], "imagePath": "a.jpg",
                                     "imageData": base64.b64encode(made.image()).decode()})}),
        "picture-inside-annotation", "a.json", "the image is only inside the JSON (imageData)"),
}  # fmt: skip


@pytest.mark.parametrize("kind", FOUND)
def test_found_and_said(tmp_path: Path, kind: str) -> None:
    build, slug, file, says = FOUND[kind]
    build(tmp_path)
    report, _ = check([DatasetPart(str(tmp_path))], use_cache=False, processes=1)
    (finding,) = [finding for finding in report.findings if finding.slug == slug]
    assert finding.places[0].file.endswith(file) and says in finding.places[0].detail
    assert finding.remedy


REFUSED: dict[str, tuple[Build, str, str]] = {
    "images alone": (one_image(), "1 image, and no annotation file", "give the folder that holds the annotations too"),
    "folders as classes": (
        files({"cat/a.jpg": b"image", "dog/b.jpg": b"image"}), "2 images in 2 folders (cat, dog)", "a detector learns from boxes"),
    "a foreign table": (one_image(**{"l.csv": "bild,links,oben\na,1,2\n"}), "l.csv: its first line is 'bild,links,oben'", "name the columns filename, class"),
    "a spreadsheet": (one_image(**{"l.xlsx": b"PK"}), "l.xlsx: a spreadsheet", "save it as CSV"),
    "an archive": (one_image(**{"l.zip": b"PK"}), "l.zip: an archive", "unpack it"),
    "CreateML": (one_image(**{"c.json": '[{"image": "a.jpg", "annotations": [{"label": "x", "coordinates": {"x": 1}}]}]'}), "CreateML's JSON", "as COCO"),
    "detections": (one_image(**{"d.json": '[{"image_id": 1, "bbox": [1, 2, 3, 4], "score": 0.5}]'}), "detections of a model", "give the annotations"),
    "Vertex AI": (one_image(**{"d.jsonl": '{"boundingBoxAnnotations": []}\n'}), "Vertex AI's import file", "export the dataset"),
    "KITTI": (one_image(**{"l/a.txt": "Car 0.0 0 -1.57 16 12 48 36 1 1 3 1 1 20 -1.5\n"}), "KITTI's text", "columns 5 to 8"),
    "a table called .txt": (one_image(**{"l.txt": "a.jpg,16,12,48,36,cell\n"}), "l.txt: a table of boxes called .txt", "give this file itself"),
    "keras-yolo3": (one_image(**{"l.txt": "a.jpg 16,12,48,36,0 1,2,9,9,0\n"}), "keras-yolo3's text", "write CSV"),
    "text without images": (files({"b.jpg": b"image", "texts/a.txt": LINE}), "YOLO's text, and no image here has its name", "give the folder"),
    "other JSON": (one_image(**{"x.json": '{"rows": [], "kind": 3}'}), "x.json: JSON with rows, kind", "export it as COCO"),
}  # fmt: skip


@pytest.mark.parametrize("kind", REFUSED)
def test_refused_with_the_way_on(tmp_path: Path, kind: str) -> None:
    build, found, change = REFUSED[kind]
    build(tmp_path)
    with pytest.raises(HoldfastError) as caught:
        read(str(tmp_path))
    assert caught.value.where == str(tmp_path)
    assert any(found in line for line in caught.value.found), caught.value.found
    assert any(change in line for line in caught.value.change), caught.value.change


@pytest.mark.parametrize(
    ("pack", "says", "change"),
    [(gzip.compress, "compressed with gzip", "gunzip < "), (lambda data: zlib.compress(data, 9), "compressed with zlib", "compression_type")],
)  # fmt: skip
def test_compressed_shards(tmp_path: Path, pack: Callable[[bytes], bytes], says: str, change: str) -> None:
    made.clean_voc(tmp_path / "voc", 1)
    convert(str(tmp_path / "voc"), str(tmp_path / "records"), "tfrecord")
    shutil.rmtree(tmp_path / "voc")
    (shard,) = (tmp_path / "records").glob("*.tfrecord")
    shard.write_bytes(pack(shard.read_bytes()))
    with pytest.raises(HoldfastError, match=says) as caught:
        read(str(tmp_path / "records"))
    assert caught.value.where == str(shard) and change in caught.value.change[0]


@pytest.mark.parametrize("name", ["a\0b.jpg", "\ud800.jpg"])
def test_a_name_that_no_file_can_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    images = [IMAGE, IMAGE | {"id": 8, "file_name": name}]
    boxes = [ANNOTATION, ANNOTATION | {"id": 2, "image_id": 8}]
    document = {"images": images, "annotations": boxes, "categories": [CATEGORY]}
    one_image(**{"_annotations.coco.json": json.dumps(document)})(tmp_path / "set")
    report, _ = check([DatasetPart(str(tmp_path / "set"))], processes=1)
    assert {finding.slug: finding.count for finding in report.findings}["unreadable-image"] == 1
    converted = convert(str(tmp_path / "set"), str(tmp_path / "out"), "voc")
    assert {finding.slug: finding.count for finding in converted.findings} == {"unreadable-image": 1}
    assert [path.name for path in (tmp_path / "out" / "JPEGImages").iterdir()] == ["a.jpg"]


def test_a_png_header_is_read_without_its_pixels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pillow decodes a PNG to look for EXIF behind the pixels: seconds and gigabytes for a large one."""
    from PIL.PngImagePlugin import PngImageFile

    from holdfast.data.images.image_file import header_of

    def decoded(self: Any) -> None:
        raise AssertionError("the pixels were decoded")

    monkeypatch.setattr(PngImageFile, "load", decoded)
    facts = header_of(made.image(W, H, format="PNG"))
    assert facts is not None and (facts.size, facts.orientation) == ((W, H), 1)
