"""Exports of labelling tools, tables of competitions and what people do to them: values, not only formats."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from holdfast.data.checks import Part, check
from holdfast.data.convert import convert
from holdfast.data.reading import read

from .test_strange_sets import BOX, HEADER, LINE, H, W, put

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
    put(source, **{f"{folder}/a.jpg": b"picture", "l.csv": HEADER + f"{folder}/a.jpg,64,48,cell,16,12,48,36\n"})
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
    yaml = f"path: ../datasets/mine\ntrain: images/train\nval: images/val\ntest:{nothing}\nnames:\n  0: cell\n"
    put(tmp_path, **{f"images/{s}/{s}.jpg": b"picture" for s in ("train", "val")},
        **{f"labels/{s}/{s}.txt": LINE for s in ("train", "val")}, **{"data.yaml": yaml})  # fmt: skip
    assert "split-overlap" not in findings(tmp_path)
    assert {record.split for record in read(str(tmp_path)).records} == {"train", "val"}
