"""Exports of labelling tools, tables of competitions and what people do to them: values, not only formats."""

# ruff: noqa: E501  one dataset a line: broken over several, the tables cannot be read

from __future__ import annotations

import json
import os
import subprocess
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from holdfast.data.checking.dataset_check import DatasetPart, check
from holdfast.data.reading.load import read
from holdfast.data.writing.atomic_output import Staging
from holdfast.data.writing.convert import ConvertOptions, convert
from holdfast.errors import HoldfastError, of_os

from . import made
from .test_strange_sets import BOX, HEADER, LINE, put

YAML = "train: images\nnames: [cell]\n"


def boxes(path: Path | str, **options: Any) -> dict[str, list[tuple[Any, ...]]]:
    """Every image's boxes, by the path that the image really has."""
    dataset = read(str(path), **options)
    return {record.image.path.rsplit("/", 1)[-1]: [(box.name, *box.corners) for box in record.boxes]
            for record in dataset.records}  # fmt: skip


def findings(path: Path) -> dict[str, Any]:
    report, _ = check([DatasetPart(str(path))], use_cache=False, processes=1)
    return {finding.slug: finding for finding in report.findings}


# -- YOLO -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("folder", ["images", "labels", "data/JPEGImages", "images/images"])
def test_images_in_a_folder_called_images_keep_their_boxes_in_yolo(tmp_path: Path, folder: str) -> None:
    """YOLO finds the text by putting `labels` for `images`; a second such folder in the path broke that."""
    source = tmp_path / "table"
    put(
        source,
        **{f"{folder}/a.jpg": b"image", "l.csv": HEADER + f"{folder}/a.jpg,64,48,cell,16,12,48,36\n"},
    )
    convert(str(source), str(tmp_path / "yolo"), "yolo")
    assert boxes(tmp_path / "yolo") == {"a.jpg": [("cell", *BOX)]}
    (image,) = (tmp_path / "yolo").glob("images/**/a.jpg")
    told = str(image).rpartition("/images/")  # what every other reader of YOLO does
    assert Path(f"{told[0]}/labels/{told[2]}").with_suffix(".txt").is_file()


def test_two_folders_do_not_become_one_in_yolo(tmp_path: Path) -> None:
    rows = "images/a.jpg,64,48,cell,16,12,48,36\nimages_/a.jpg,64,48,cell,1,2,33,34\n"
    put(tmp_path / "t", **{"images/a.jpg": b"image", "images_/a.jpg": b"image", "l.csv": HEADER + rows})
    convert(str(tmp_path / "t"), str(tmp_path / "yolo"), "yolo")
    dataset = read(str(tmp_path / "yolo"))
    assert {record.file_name: record.boxes[0].corners for record in dataset.records} == {
        "images/a.jpg": BOX,
        "images_/a.jpg": (1.0, 2.0, 33.0, 34.0),
    }


@pytest.mark.parametrize(
    ("image", "text"),
    [("images/cam/images/a.jpg", "labels/cam/images/a.txt"), ("images/cam/images/a.jpg", "labels/cam/labels/a.txt"),
     ("images/cam/images/a.jpg", "images/cam/labels/a.txt"), ("images/a.jpg", "labels/a.txt")],
)  # fmt: skip
def test_yolo_with_images_twice_in_the_path(tmp_path: Path, image: str, text: str) -> None:
    put(tmp_path, **{image: b"image", text: LINE, "data.yaml": YAML})
    assert boxes(tmp_path) == {"a.jpg": [("cell", *BOX)]}


@pytest.mark.parametrize("nothing", ["", "  # optional", " null", " ~", " ''", " []"])
def test_a_split_without_a_value_names_no_images(tmp_path: Path, nothing: str) -> None:
    yaml = (
        f"path: ../datasets/mine\ntrain: images/train\nval: images/val\ntest:{nothing}\nnames:\n  0: cell\n"
    )
    put(tmp_path, **{f"images/{s}/{s}.jpg": b"image" for s in ("train", "val")},
        **{f"labels/{s}/{s}.txt": LINE for s in ("train", "val")}, **{"data.yaml": yaml})  # fmt: skip
    assert "split-overlap" not in findings(tmp_path)
    assert {record.split for record in read(str(tmp_path)).records} == {"train", "val"}


# -- CSV ------------------------------------------------------------------------------------------

ONE = {"a.jpg": [("cell", *BOX)]}
TABLES: dict[str, str] = {
    "percent, as Label Studio counts": "image,label,x,y,width,height,original_width,original_height\na.jpg,cell,25,25,50,50,64,48\n",
    "percent by the names of the columns": "image,label,xmin_percent,ymin_percent,xmax_percent,ymax_percent\na.jpg,cell,25,25,75,75\n",
    "percent with signs": "image,label,xmin,ymin,xmax,ymax\na.jpg,cell,25%,25%,75%,75%\n",
    "pixels beside the original size": "image,label,xmin,ymin,xmax,ymax,original_width,original_height\na.jpg,cell,16,12,48,36,64,48\nb.jpg,cell,1,1,180,140,200,150\n",
    "cls": "image_name,cls,cx,cy,w,h\na.jpg,cell,32,24,32,24\n",
    "lists of corners": 'image,boxes,labels\na.jpg,"[[16, 12, 48, 36]]","[""cell""]"\n',
    "lists of sizes": 'image_id,bboxes,labels\na,"[[16, 12, 32, 24]]","[""cell""]"\n',
    "lists of corners called bbox, told by the images": 'image_id,bbox,label\na,"[16, 12, 48, 36]",cell\na,"[40, 30, 60, 45]",cell\n',
    "lists as Python prints them": "image_id,annotations\na,\"[{'x': 16, 'y': 12, 'width': 32, 'height': 24, 'class': 'cell'}]\"\n",
    "lists of objects with corners": 'file,objects\na.jpg,"[{""xmin"": 16, ""ymin"": 12, ""xmax"": 48, ""ymax"": 36, ""label"": ""cell""}]"\n',
    "one class for a list": 'image,boxes,label\na.jpg,"[(16, 12, 48, 36)]",cell\n',
}  # fmt: skip


@pytest.mark.parametrize("kind", TABLES)
def test_tables_of_competitions(tmp_path: Path, kind: str) -> None:
    put(tmp_path, **{"images/a.jpg": b"image", "train.csv": TABLES[kind]})
    assert boxes(tmp_path, strict=False)["a.jpg"][:1] == [("cell", *BOX)]


def test_a_list_without_boxes_is_a_negative_and_a_torn_one_is_said(tmp_path: Path) -> None:
    rows = 'a,"[[16, 12, 48, 36]]","[""cell""]"\nb,[],[]\nc,"[[1, 2, 3]]","[""cell""]"\nd,"[[1, 2, 30, 40]]","[]"\n'
    put(
        tmp_path,
        **{f"{name}.jpg": b"image" for name in "abcd"},
        **{"t.csv": "image_id,boxes,labels\n" + rows},
    )
    found = findings(tmp_path)["unreadable-annotation"]
    assert [place.detail for place in found.places] == [
        "line 4: box 1 is '[1, 2, 3]', not four numbers",
        "line 5: 1 boxes and 0 classes",
    ]
    assert boxes(tmp_path, strict=False)["b.jpg"] == []


def test_boxes_of_one_column_are_sizes_where_that_fits_the_images(tmp_path: Path) -> None:
    """A box that fills its image is larger than its corner either way; only the image's edge tells."""
    put(tmp_path, **{"a.jpg": b"image", "t.csv": 'image_id,bbox,label\na,"[2, 2, 60, 44]",cell\n'})
    assert boxes(tmp_path) == {"a.jpg": [("cell", 2.0, 2.0, 62.0, 46.0)]}


def test_a_table_whose_classes_nobody_finds_says_so(tmp_path: Path) -> None:
    put(tmp_path, **{"a.jpg": b"image", "t.csv": "image,sort,xmin,ymin,xmax,ymax\na.jpg,cell,16,12,48,36\n"})
    found = findings(tmp_path)["class-column-unknown"]
    assert found.severity == "warning" and found.places[0].file.endswith("t.csv")
    assert found.places[0].detail == "every box is called 'object'; columns that were not read: sort: cell"


@pytest.mark.parametrize(
    ("column", "text"), [("score", "3"), ("source", "usask_1"), ("patientId", "p-7"), ("url", "http://x")]
)
def test_a_table_of_one_kind_of_object_is_no_finding(tmp_path: Path, column: str, text: str) -> None:
    table = f"image,{column},xmin,ymin,xmax,ymax\na.jpg,{text},16,12,48,36\n"
    put(tmp_path, **{"a.jpg": b"image", "t.csv": table})
    assert "class-column-unknown" not in findings(tmp_path)


def test_open_images_codes_have_names(tmp_path: Path) -> None:
    header = "ImageID,Source,LabelName,Confidence,XMin,XMax,YMin,YMax,IsGroupOf\n"
    put(tmp_path, **{"a.jpg": b"image", "train-annotations-bbox.csv": header + "a,x,/m/01yrx,1,0.25,0.75,0.25,0.75,0\n",
                     "class-descriptions-boxable.csv": "/m/01yrx,cell\n/m/0bt9lr,dog\n"})  # fmt: skip
    assert boxes(tmp_path) == ONE


# -- names ----------------------------------------------------------------------------------------


def coco_of(*names: str) -> str:
    images = [{"id": at, "file_name": name, "width": 64, "height": 48} for at, name in enumerate(names, 1)]
    made = [
        {"id": at, "image_id": at, "category_id": 1, "bbox": [16, 12, 32, 24]}
        for at in range(1, len(names) + 1)
    ]
    return json.dumps({"images": images, "annotations": made, "categories": [{"id": 1, "name": "cell"}]})


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_accents_are_the_same_in_either_form(tmp_path: Path, form: Any) -> None:
    """macOS writes é as e and an accent, Linux and JSON as one letter; to the eye they are the same name."""
    other = {"NFC": "NFD", "NFD": "NFC"}[form]
    put(tmp_path, **{f"images/{unicodedata.normalize(other, 'café.jpg')}": b"image",
                     "ann.json": coco_of(unicodedata.normalize(form, "café.jpg"))})  # fmt: skip
    assert list(boxes(tmp_path).values()) == [[("cell", *BOX)]]
    assert "missing-image" not in findings(tmp_path)


def test_accents_in_either_form_find_their_yolo_text(tmp_path: Path) -> None:
    put(tmp_path, **{f"images/{unicodedata.normalize('NFC', 'é.jpg')}": b"image",
                     f"labels/{unicodedata.normalize('NFD', 'é.txt')}": LINE, "data.yaml": YAML})  # fmt: skip
    assert list(boxes(tmp_path).values()) == [[("cell", *BOX)]]


def test_two_images_that_differ_only_in_the_form_of_an_accent_keep_their_own_boxes(tmp_path: Path) -> None:
    names = [unicodedata.normalize(form, "é.jpg") for form in ("NFC", "NFD")]
    put(tmp_path, **dict.fromkeys(names, b"image"), **{"ann.json": coco_of(*names)})
    assert boxes(tmp_path) == {name: [("cell", *BOX)] for name in names}


def test_a_backslash_may_be_part_of_a_name(tmp_path: Path) -> None:
    put(tmp_path, **{"images/a\\b.jpg": b"image", "ann.json": coco_of("a\\b.jpg")})
    assert boxes(tmp_path) == {"a\\b.jpg": [("cell", *BOX)]}


# -- lists that name what is not there ------------------------------------------------------------


def test_image_sets_that_name_what_is_not_there(tmp_path: Path) -> None:
    xml = made.voc_xml("a.jpg", (64, 48), [("cell", 17, 13, 48, 36)])
    put(tmp_path, **{"JPEGImages/a.jpg": b"image", "Annotations/a.xml": xml,
                     "ImageSets/Main/train.txt": "a\nghost\n", "ImageSets/Main/cell_train.txt": "a  1\nghost -1\n"})  # fmt: skip
    found = findings(tmp_path)["listed-but-absent"]
    assert (found.severity, found.count) == ("warning", 1) and found.places[0].file.endswith("Main/train.txt")
    assert found.places[0].detail == "1 of 2 have neither image nor annotation, such as ghost"


def test_image_sets_by_our_own_writer_name_nothing_that_is_absent(tmp_path: Path) -> None:
    put(tmp_path / "t", **{"cam 1/a b.jpg": b"image", "train/c.jpg": b"image",
                           "ann_train.json": coco_of("cam 1/a b.jpg", "train/c.jpg")})  # fmt: skip
    convert(str(tmp_path / "t"), str(tmp_path / "voc"), "voc")
    assert "listed-but-absent" not in findings(tmp_path / "voc")


def test_a_list_of_yolo_that_names_what_is_not_there(tmp_path: Path) -> None:
    put(tmp_path, **{"images/a.jpg": b"image", "labels/a.txt": LINE, "train.txt": "./images/a.jpg\n./images/ghost.jpg\n",
                     "data.yaml": "train: train.txt\nval: images/val\ntest: ../test/images\nnames: [cell]\n"})  # fmt: skip
    found = findings(tmp_path)["listed-but-absent"]
    assert [(place.file.rsplit("/", 1)[-1], place.detail) for place in found.places] == [
        ("train.txt", "1 of 2 are not there, such as ./images/ghost.jpg"),
        ("data.yaml", "val: there is no image in images/val"),
    ]


def test_a_missing_shard_is_named(tmp_path: Path) -> None:
    put(
        tmp_path / "t",
        **{f"{name}.jpg": b"image" for name in "abc"},
        **{"ann.json": coco_of("a.jpg", "b.jpg", "c.jpg")},
    )
    convert(str(tmp_path / "t"), str(tmp_path / "r"), "tfrecord", options=ConvertOptions(shards=3))
    assert "missing-shard" not in findings(tmp_path / "r")
    (lost,) = (tmp_path / "r").glob("*-00001-of-00003*")
    lost.unlink()
    found = findings(tmp_path / "r")["missing-shard"]
    assert found.severity == "warning" and lost.name in found.places[0].detail


# -- labelme, COCO, two formats -------------------------------------------------------------------


@pytest.mark.parametrize(("label", "name"), [(0, "0"), (7, "7"), ("cell", "cell")])
def test_labelme_with_numbers_as_labels(tmp_path: Path, label: Any, name: str) -> None:
    shape = {"label": label, "points": [[16, 12], [48, 36]], "shape_type": "rectangle"}
    put(tmp_path, **{"a.jpg": b"image", "a.json": json.dumps({"shapes": [shape], "imagePath": "a.jpg"})})
    assert boxes(tmp_path) == {"a.jpg": [(name, *BOX)]}


def test_a_panoptic_file_is_called_so(tmp_path: Path) -> None:
    document = {"images": [{"id": 1, "file_name": "a.jpg"}], "categories": [{"id": 1, "name": "cell"}],
                "annotations": [{"image_id": 1, "file_name": "a.png", "segments_info": [{"bbox": [1, 2, 3, 4]}]}]}  # fmt: skip
    put(tmp_path, **{"a.jpg": b"image", "panoptic_val2017.json": json.dumps(document)})
    with pytest.raises(HoldfastError) as caught:
        read(str(tmp_path))
    assert "panoptic_val2017.json: a panoptic segmentation, not boxes" in caught.value.found
    assert "give instances_*.json of the same dataset" in caught.value.change


def test_a_json_that_ends_early_says_what_to_do(tmp_path: Path) -> None:
    put(tmp_path, **{"a.jpg": b"image", "ann.json": coco_of("a.jpg")[:-30]})
    with pytest.raises(HoldfastError, match="the JSON cannot be read") as caught:
        read(str(tmp_path))
    assert caught.value.change == ("the file may end early: copy or export it again",)


@pytest.mark.parametrize("name", ["ann.json", "via.json"])
def test_a_json_with_a_mistake_in_it_is_not_said_to_end_early(name: str, tmp_path: Path) -> None:
    """A number of 5,000 digits, in a file that is read as a stream and in one that is read at once."""
    via = '{"a.jpg1": {"filename": "a.jpg", "size": 64, "regions": []}}'
    content = via if name == "via.json" else coco_of("a.jpg")
    put(tmp_path, **{"a.jpg": b"image", name: content.replace("64", "6" * 5000, 1)})
    with pytest.raises(HoldfastError) as caught:
        read(str(tmp_path))
    assert "5000 digits" in str(caught.value)
    assert "sys." not in str(caught.value)
    assert caught.value.change == ("export it again",)


def test_images_that_only_the_other_set_of_annotations_names(tmp_path: Path) -> None:
    xml = made.voc_xml("a.jpg", (64, 48), [("cell", 17, 13, 48, 36)])
    put(tmp_path, **{"images/a.jpg": b"image", "images/b.jpg": b"image", "images/c.jpg": b"image",
                     "Annotations/a.xml": xml, "labels/b.txt": LINE, "classes.txt": "cell\n"})  # fmt: skip
    found = findings(tmp_path)["annotation-sources-disagree"]
    assert (
        found.places[0].detail == "1 image is annotated only by the yolo here, and is not used: such as b.jpg"
    )


def test_one_image_named_by_every_xml(tmp_path: Path) -> None:
    """Copied XML keeps the first image's name; the file beside it, called like the XML, is the one meant."""
    corners = {"a": (17, 13, 48, 36), "b": (1, 1, 30, 30), "c": (5, 5, 20, 40)}
    for name, box in corners.items():
        put(tmp_path, **{f"images/{name}.jpg": made.image(64, 48, ord(name)),
                         f"annotations/{name}.xml": made.voc_xml("a.jpg", (64, 48), [("cell", *box)])})  # fmt: skip
    assert boxes(tmp_path) == {
        "a.jpg": [("cell", *BOX)],
        "b.jpg": [("cell", 0, 0, 30, 30)],
        "c.jpg": [("cell", 4, 4, 20, 40)],
    }


# -- what the system refuses ----------------------------------------------------------------------


def test_a_folder_inside_that_may_not_be_read_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its files would be missing from the answer: "no annotation file" is not what is wrong."""
    xml = made.voc_xml("a.jpg", (64, 48), [("cell", 17, 13, 48, 36)])
    put(tmp_path, **{"d/JPEGImages/a.jpg": b"image", "d/Annotations/a.xml": xml, "d/lost+found/x": b"x"})
    tmp_path.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    was = os.geteuid()
    for closed in ("d/Annotations", "d/lost+found"):
        Path(closed).chmod(0)
    try:
        if was == 0:
            os.seteuid(65534)  # root may read everything
        with pytest.raises(HoldfastError, match="this user may not read a folder of the dataset") as caught:
            read("d")
    finally:
        os.seteuid(was)
        Path("d/Annotations").chmod(0o755)
    assert caught.value.where == "d/Annotations" and caught.value.change == ("chmod u+rx d/Annotations",)


def test_a_full_disk_is_named(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(small)], check=False)
    if mounted.returncode:
        pytest.skip("tmpfs cannot be mounted here")
    try:
        staging = Staging(str(small / "copy"), {})
        with pytest.raises(OSError) as caught:
            staging.write("a.jpg", b"x" * 100_000)
    finally:
        subprocess.run(["umount", str(small)], check=True)
    error = of_os(caught.value)
    assert error.slug == "disk-full" and error.where == str(small / "copy.partial" / "a.jpg")


@pytest.mark.parametrize("name", ["train.tfrecord.gz", "train.json.gz"])
def test_a_file_compressed_alone_is_unpacked_in_place(tmp_path: Path, name: str) -> None:
    put(tmp_path, **{"a.jpg": b"image", name: b"\x1f\x8b"})
    with pytest.raises(HoldfastError) as caught:
        read(str(tmp_path))
    assert f"{name}: a file compressed with gzip" in caught.value.found
    assert "gunzip it" in caught.value.change
