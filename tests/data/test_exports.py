"""Exports of labelling tools, tables of competitions and what people do to them: values, not only formats."""

# ruff: noqa: E501  one dataset a line: broken over several, the tables cannot be read

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from holdfast.data.checks import Part, check
from holdfast.data.convert import convert
from holdfast.data.reading import read

from .test_strange_sets import BOX, HEADER, LINE, put

YAML = "train: images\nnames: [cell]\n"


def boxes(path: Path | str, **options: Any) -> dict[str, list[tuple[Any, ...]]]:
    """Every picture's boxes, by the path that the picture really has."""
    dataset = read(str(path), **options)
    return {record.picture.path.rsplit("/", 1)[-1]: [(box.name, *box.corners) for box in record.boxes]
            for record in dataset.records}  # fmt: skip


def findings(path: Path) -> dict[str, Any]:
    report, _ = check([Part(str(path))], use_cache=False, processes=1)
    return {finding.slug: finding for finding in report.findings}


# -- YOLO -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("folder", ["images", "labels", "data/JPEGImages", "images/images"])
def test_pictures_in_a_folder_called_images_keep_their_boxes_in_yolo(tmp_path: Path, folder: str) -> None:
    """YOLO finds the text by putting `labels` for `images`; a second such folder in the path broke that."""
    source = tmp_path / "table"
    put(
        source,
        **{f"{folder}/a.jpg": b"picture", "l.csv": HEADER + f"{folder}/a.jpg,64,48,cell,16,12,48,36\n"},
    )
    convert(str(source), str(tmp_path / "yolo"), "yolo")
    assert boxes(tmp_path / "yolo") == {"a.jpg": [("cell", *BOX)]}
    (picture,) = (tmp_path / "yolo").glob("images/**/a.jpg")
    told = str(picture).rpartition("/images/")  # what every other reader of YOLO does
    assert Path(f"{told[0]}/labels/{told[2]}").with_suffix(".txt").is_file()


def test_two_folders_do_not_become_one_in_yolo(tmp_path: Path) -> None:
    rows = "images/a.jpg,64,48,cell,16,12,48,36\nimages_/a.jpg,64,48,cell,1,2,33,34\n"
    put(tmp_path / "t", **{"images/a.jpg": b"picture", "images_/a.jpg": b"picture", "l.csv": HEADER + rows})
    convert(str(tmp_path / "t"), str(tmp_path / "yolo"), "yolo")
    dataset = read(str(tmp_path / "yolo"))
    assert {record.file_name: record.boxes[0].corners for record in dataset.records} == {
        "images/a.jpg": BOX,
        "images_/a.jpg": (1.0, 2.0, 33.0, 34.0),
    }


@pytest.mark.parametrize(
    ("picture", "text"),
    [("images/cam/images/a.jpg", "labels/cam/images/a.txt"), ("images/cam/images/a.jpg", "labels/cam/labels/a.txt"),
     ("images/cam/images/a.jpg", "images/cam/labels/a.txt"), ("images/a.jpg", "labels/a.txt")],
)  # fmt: skip
def test_yolo_with_images_twice_in_the_path(tmp_path: Path, picture: str, text: str) -> None:
    put(tmp_path, **{picture: b"picture", text: LINE, "data.yaml": YAML})
    assert boxes(tmp_path) == {"a.jpg": [("cell", *BOX)]}


@pytest.mark.parametrize("nothing", ["", "  # optional", " null", " ~", " ''", " []"])
def test_a_split_without_a_value_names_no_pictures(tmp_path: Path, nothing: str) -> None:
    yaml = (
        f"path: ../datasets/mine\ntrain: images/train\nval: images/val\ntest:{nothing}\nnames:\n  0: cell\n"
    )
    put(tmp_path, **{f"images/{s}/{s}.jpg": b"picture" for s in ("train", "val")},
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
    "lists of corners called bbox, told by the pictures": 'image_id,bbox,label\na,"[16, 12, 48, 36]",cell\na,"[40, 30, 60, 45]",cell\n',
    "lists as Python prints them": "image_id,annotations\na,\"[{'x': 16, 'y': 12, 'width': 32, 'height': 24, 'class': 'cell'}]\"\n",
    "lists of objects with corners": 'file,objects\na.jpg,"[{""xmin"": 16, ""ymin"": 12, ""xmax"": 48, ""ymax"": 36, ""label"": ""cell""}]"\n',
    "one class for a list": 'image,boxes,label\na.jpg,"[(16, 12, 48, 36)]",cell\n',
}  # fmt: skip


@pytest.mark.parametrize("kind", TABLES)
def test_tables_of_competitions(tmp_path: Path, kind: str) -> None:
    put(tmp_path, **{"images/a.jpg": b"picture", "train.csv": TABLES[kind]})
    assert boxes(tmp_path, strict=False)["a.jpg"][:1] == [("cell", *BOX)]


def test_a_list_without_boxes_is_a_negative_and_a_torn_one_is_said(tmp_path: Path) -> None:
    rows = 'a,"[[16, 12, 48, 36]]","[""cell""]"\nb,[],[]\nc,"[[1, 2, 3]]","[""cell""]"\nd,"[[1, 2, 30, 40]]","[]"\n'
    put(
        tmp_path,
        **{f"{name}.jpg": b"picture" for name in "abcd"},
        **{"t.csv": "image_id,boxes,labels\n" + rows},
    )
    found = findings(tmp_path)["unreadable-annotation"]
    assert [place.detail for place in found.places] == [
        "line 4: box 1 is '[1, 2, 3]', not four numbers",
        "line 5: 1 boxes and 0 classes",
    ]
    assert boxes(tmp_path, strict=False)["b.jpg"] == []


def test_boxes_of_one_column_are_sizes_where_that_fits_the_pictures(tmp_path: Path) -> None:
    """A box that fills its picture is larger than its corner either way; only the picture's edge tells."""
    put(tmp_path, **{"a.jpg": b"picture", "t.csv": 'image_id,bbox,label\na,"[2, 2, 60, 44]",cell\n'})
    assert boxes(tmp_path) == {"a.jpg": [("cell", 2.0, 2.0, 62.0, 46.0)]}


def test_a_table_whose_classes_nobody_finds_says_so(tmp_path: Path) -> None:
    put(
        tmp_path, **{"a.jpg": b"picture", "t.csv": "image,sort,xmin,ymin,xmax,ymax\na.jpg,cell,16,12,48,36\n"}
    )
    found = findings(tmp_path)["class-column-unknown"]
    assert found.severity == "warning" and found.places[0].file.endswith("t.csv")
    assert found.places[0].detail == "every box is called 'object'; columns that were not read: sort: cell"


def test_a_table_of_one_kind_of_object_is_no_finding(tmp_path: Path) -> None:
    put(tmp_path, **{"a.jpg": b"picture", "t.csv": "image,score,xmin,ymin,xmax,ymax\na.jpg,3,16,12,48,36\n"})
    assert "class-column-unknown" not in findings(tmp_path)


def test_open_images_codes_have_names(tmp_path: Path) -> None:
    header = "ImageID,Source,LabelName,Confidence,XMin,XMax,YMin,YMax,IsGroupOf\n"
    put(tmp_path, **{"a.jpg": b"picture", "train-annotations-bbox.csv": header + "a,x,/m/01yrx,1,0.25,0.75,0.25,0.75,0\n",
                     "class-descriptions-boxable.csv": "/m/01yrx,cell\n/m/0bt9lr,dog\n"})  # fmt: skip
    assert boxes(tmp_path) == ONE
