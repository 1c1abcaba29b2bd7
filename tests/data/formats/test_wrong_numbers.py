"""Ids, lists and folders of another counting or another split, in whole datasets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from holdfast.data.checking.dataset_check import DatasetPart, Report, check
from holdfast.data.files.tfrecord_framing import framed
from holdfast.data.formats.tf_example import serialize_example
from holdfast.data.reading.load import read

from .. import made


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))


def checked(path: Path) -> Report:
    return check([DatasetPart(str(path))], processes=1)[0]


def detail(report: Report, slug: str) -> str:
    return next(finding for finding in report.findings if finding.slug == slug).places[0].detail


def coco(folder: Path, *, image_step: int = 0, category_step: int = 0) -> Path:
    """24 images of different sizes, each with one box at its lower right corner."""
    sizes = [(64 + 5 * (n % 7), 48 + 3 * (n % 5)) for n in range(24)]
    for n, (width, height) in enumerate(sizes):
        (folder / f"{n:03d}.jpg").parent.mkdir(parents=True, exist_ok=True)
        (folder / f"{n:03d}.jpg").write_bytes(made.image(width, height, seed=n))
    images: list[dict[str, Any]] = [
        {"id": n, "file_name": f"{n:03d}.jpg", "width": w, "height": h} for n, (w, h) in enumerate(sizes)
    ]
    boxes = [
        {
            "id": n,
            "image_id": n + image_step,
            "category_id": 1 + n % 2 + category_step,
            "bbox": [w - 30, h - 20, 30, 20],
        }
        for n, (w, h) in enumerate(sizes)
    ]
    return made.coco(folder, images, boxes, [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}])


def test_coco_that_counts_right(tmp_path: Path) -> None:
    assert set(made.slugs(checked(coco(tmp_path / "d")))) == {"mixed-image-sizes"}


@pytest.mark.parametrize(("step", "ids"), [(1, "1 to 24"), (-1, "-1 to 22")])
def test_image_ids_off_by_one(tmp_path: Path, step: int, ids: str) -> None:
    report = checked(coco(tmp_path / "d", image_step=step))
    found = made.slugs(report)
    assert found["image-id-off-by-one"] == 1
    assert found["annotation-without-image"] == 1
    assert "outside-box" not in found
    assert detail(report, "image-id-off-by-one") == f"images have ids 0 to 23, and annotations image_id {ids}"


def test_an_image_that_was_taken_out_of_the_list_is_no_shift(tmp_path: Path) -> None:
    folder = coco(tmp_path / "d")
    file = folder / "annotations.json"
    document = json.loads(file.read_text())
    document["images"].pop()  # its annotation stays; the first image has one too
    file.write_text(json.dumps(document))
    found = made.slugs(checked(folder))
    assert found["annotation-without-image"] == 1
    assert "image-id-off-by-one" not in found


@pytest.mark.parametrize(("step", "ids"), [(1, "2 to 3"), (-1, "0 to 1")])
def test_category_ids_off_by_one(tmp_path: Path, step: int, ids: str) -> None:
    report = checked(coco(tmp_path / "d", category_step=step))
    said = f"categories have ids 1 to 2, and annotations category_id {ids}"
    assert detail(report, "class-id-off-by-one") == said


def yolo(folder: Path, lines: dict[str, str], lists: dict[str, str]) -> Path:
    """Text files by their paths below `labels`, the images with them, and lists of classes."""
    for number, (name, line) in enumerate(lines.items()):
        image = folder / "images" / f"{name}.jpg"
        label = folder / "labels" / f"{name}.txt"
        for file in (image, label):
            file.parent.mkdir(parents=True, exist_ok=True)
        image.write_bytes(made.image(seed=number))
        label.write_text(line)
    for name, text in lists.items():
        (folder / name).write_text(text)
    return folder


TWO_SPLITS = {
    f"{split}/{split}{n:02d}": "0 0.5 0.5 0.4 0.4\n" for split in ("train", "val") for n in range(12)
}


def test_each_folder_has_its_own_list_of_classes(tmp_path: Path) -> None:
    lists = {"labels/train/classes.txt": "cat\ndog\n", "labels/val/classes.txt": "dog\ncat\n"}
    folder = yolo(tmp_path / "d", TWO_SPLITS, lists)
    report = checked(folder)
    said = "0 is 'dog' here and 'cat' elsewhere; each folder is read with its own list"
    assert detail(report, "class-lists-disagree") == said
    named = {record.split: {box.name for box in record.boxes} for record in read(str(folder)).records}
    assert named == {"train": {"cat"}, "val": {"dog"}}


def test_a_yaml_counts_more_than_the_list_of_a_folder(tmp_path: Path) -> None:
    lists = {
        "labels/val/classes.txt": "dog\ncat\n",
        "data.yaml": "train: images/train\nval: images/val\nnames: [cat, dog]\n",
    }
    folder = yolo(tmp_path / "d", TWO_SPLITS, lists)
    assert "data.yaml is what counts" in detail(checked(folder), "class-lists-disagree")
    assert {box.name for record in read(str(folder)).records for box in record.boxes} == {"cat"}


def test_lists_that_agree(tmp_path: Path) -> None:
    lists = {"labels/train/classes.txt": "cat\ndog\n", "labels/val/classes.txt": "cat\n"}
    assert set(made.slugs(checked(yolo(tmp_path / "d", TWO_SPLITS, lists)))) == {"unused-class"}


def test_texts_in_the_folder_of_another_split(tmp_path: Path) -> None:
    folder = yolo(tmp_path / "d", TWO_SPLITS, {"classes.txt": "cat\n"})
    (folder / "labels" / "train").rename(folder / "labels" / "x")
    (folder / "labels" / "val").rename(folder / "labels" / "train")
    (folder / "labels" / "x").rename(folder / "labels" / "val")
    report = checked(folder)
    assert made.slugs(report) == {"label-in-another-split": 24}
    assert report.boxes == 24


def test_decimal_commas_are_read_and_noted(tmp_path: Path) -> None:
    lines = {f"{n:02d}": "0 0,5 0,5 0,25 0,5\n" for n in range(12)}
    folder = yolo(tmp_path / "d", lines, {"classes.txt": "cat\n"})
    assert made.severities(checked(folder)) == {"decimal-commas": "note"}
    assert read(str(folder)).records[0].boxes[0].corners == (24.0, 12.0, 40.0, 36.0)


def test_names_in_another_case_are_noted(tmp_path: Path) -> None:
    rows = ["filename,class,xmin,ymin,xmax,ymax"]
    for n in range(12):
        (tmp_path / f"img_{n}.jpg").write_bytes(made.image(seed=n))
        rows.append(f"IMG_{n}.JPG,cat,5,6,30,40")
    (tmp_path / "labels.csv").write_text("\n".join(rows))
    report = checked(tmp_path)
    assert made.severities(report) == {"name-case": "note"}
    assert detail(report, "name-case") == "it says IMG_0.JPG, and the file is img_0.jpg"


def via(folder: Path, attributes: list[dict[str, str]]) -> Path:
    folder.mkdir()
    document = {}
    for n, given in enumerate(attributes):
        (folder / f"{n:02d}.jpg").write_bytes(made.image(seed=n))
        shape = {"name": "rect", "x": 5, "y": 6, "width": 30, "height": 20}
        regions = [{"shape_attributes": shape, "region_attributes": given}]
        document[f"{n}"] = {"filename": f"{n:02d}.jpg", "size": 1, "regions": regions}
    (folder / "via.json").write_text(json.dumps(document))
    return folder


def test_a_region_without_a_class_beside_others_with_one(tmp_path: Path) -> None:
    report = checked(via(tmp_path / "d", [{"type": "cat"}] * 11 + [{}]))
    assert (report.classes, report.boxes) == (("cat",), 11)
    assert made.severities(report) == {"unreadable-annotation": "error"}
    assert detail(report, "unreadable-annotation") == "11.jpg: a region has no class"


def test_regions_that_all_have_no_class(tmp_path: Path) -> None:
    report = checked(via(tmp_path / "d", [{}] * 12))
    assert (report.classes, report.boxes) == (("object",), 12)
    assert made.severities(report) == {"class-column-unknown": "warning"}


def records(folder: Path, first: int) -> Path:
    """Records of one box each, with numbers from `first` on and no class texts; the label map counts from 1."""
    folder.mkdir()
    frames = b""
    for n in range(24):
        corners = {"xmin": 0.25, "ymin": 0.25, "xmax": 0.75, "ymax": 0.75}
        features: dict[str, Any] = {f"image/object/bbox/{key}": [value] for key, value in corners.items()}
        features |= {"image/encoded": [made.image(seed=n)], "image/filename": [f"{n}.jpg".encode()]}
        frames += framed(serialize_example({**features, "image/object/class/label": [first + n % 2]}))
    (folder / "train.record").write_bytes(frames)
    (folder / "label_map.pbtxt").write_text("item { id: 1 name: 'cat' }\nitem { id: 2 name: 'dog' }\n")
    return folder


@pytest.mark.parametrize(("first", "unused", "strange"), [(0, "2 ('dog')", 0), (2, "1 ('cat')", 3)])
def test_tfrecord_labels_off_by_one(tmp_path: Path, first: int, unused: str, strange: int) -> None:
    said = detail(checked(records(tmp_path / "d", first)), "class-id-off-by-one")
    assert said == f"no box has class {unused}, and some have class {strange}, which has no name"


def test_tfrecord_labels_that_count_right(tmp_path: Path) -> None:
    assert made.slugs(checked(records(tmp_path / "d", 1))) == {}
