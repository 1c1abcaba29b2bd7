"""Boxes stay with their image, and images with their split, in folders where either could be mistaken."""

# ruff: noqa: E501  one dataset a line: broken over several, the tables cannot be read

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from holdfast.data.checking.dataset_check import DatasetPart, check
from holdfast.data.files.splits import bare_split, training_splits, validation_splits
from holdfast.data.reading.load import read
from holdfast.data.records import Dataset

from . import made
from .test_strange_sets import put

XML = (
    "<annotation><filename>{name}</filename><size><width>64</width><height>48</height></size>"
    "<object><name>cell</name><bndbox><xmin>17</xmin><ymin>13</ymin><xmax>48</xmax><ymax>36</ymax></bndbox></object>"
    "</annotation>"
)
LINE = "0 0.5 0.5 0.5 0.5\n"


def coco(*names: str, first: int = 1) -> str:
    images = [
        {"id": number, "file_name": name, "width": 64, "height": 48}
        for number, name in enumerate(names, first)
    ]
    boxes = [
        {"id": image["id"], "image_id": image["id"], "category_id": 1, "bbox": [16, 12, 32, 24]}
        for image in images
    ]
    return json.dumps({"images": images, "annotations": boxes, "categories": [{"id": 1, "name": "cell"}]})


def images(*names: str) -> dict[str, bytes]:
    return dict.fromkeys(names, b"image")


def splits(dataset: Dataset) -> dict[str, str | None]:
    return {record.file_name: record.split for record in dataset.records}


def found(path: Path, **options: Any) -> dict[str, list[str]]:
    report, _ = check([DatasetPart(str(path), **options)], use_cache=False, processes=1)
    return {finding.slug: [place.detail for place in finding.places] for finding in report.findings}


def turned(width: int = 400, height: int = 300) -> bytes:
    from PIL import Image

    exif = Image.Exif()
    exif[0x0112] = 6
    return made.image(width, height, exif=exif.tobytes())


# -- which frame ------------------------------------------------------------------------------------


def test_a_box_just_over_the_edge_turns_no_other_box(tmp_path: Path) -> None:
    """The upright image is 300 wide; the first box ends at 301.5, and would fit the stored one."""
    label = "0 0.9 0.3 0.21 0.2\n0 0.3 0.2 0.2 0.1\n"
    put(
        tmp_path,
        **{"images/a.jpg": turned(), "labels/a.txt": label, "data.yaml": "train: images\nnames: [cell]\n"},
    )
    assert [record.frame for record in read(str(tmp_path)).records] == ["upright"]
    said = found(tmp_path)
    assert said["exif-rotated"] == [
        "orientation 6; boxes in the upright frame: the boxes are fractions of the upright image"
    ]
    assert "outside-box" in said


def test_the_declared_frame_stands_where_boxes_pass_its_edge_a_little(tmp_path: Path) -> None:
    document = json.loads(coco("a.jpg"))
    document["images"][0] |= {"width": 300, "height": 400}
    document["annotations"][0]["bbox"] = [240, 80, 62.5, 80]
    put(tmp_path, **{"a.jpg": turned(), "train.json": json.dumps(document)})
    assert found(tmp_path)["exif-rotated"] == [
        "orientation 6; boxes in the upright frame: the annotation declares 300x400"
    ]


# -- which image ----------------------------------------------------------------------------------


def test_a_missing_image_is_not_replaced_by_one_of_another_split(tmp_path: Path) -> None:
    put(tmp_path, **images("train/1.jpg", "val/1.jpg", "val/3.jpg"),
        **{"annotations/instances_train.json": coco("1.jpg", "3.jpg"), "annotations/instances_val.json": coco("1.jpg")})  # fmt: skip
    assert len(found(tmp_path)["missing-image"]) == 1


@pytest.mark.parametrize("table", ["boxes.csv", "boxes.json"])
def test_a_missing_image_is_not_replaced_by_one_that_another_entry_names(table: str, tmp_path: Path) -> None:
    names = ("cam1/1.jpg", "cam2/1.jpg")
    rows = "".join(f"{name},16,12,48,36,cell\n" for name in names)
    text = coco(*names) if table.endswith("json") else "filename,xmin,ymin,xmax,ymax,class\n" + rows
    put(tmp_path, **images("cam2/1.jpg"), **{table: text})
    assert len(found(tmp_path)["missing-image"]) == 1


def test_of_two_missing_images_neither_is_taken_to_be_a_third(tmp_path: Path) -> None:
    put(tmp_path, **images("cam3/1.jpg"), **{"boxes.json": coco("cam1/1.jpg", "cam2/1.jpg")})
    assert len(found(tmp_path)["missing-image"]) == 2


def test_images_that_were_moved_are_found_by_their_names_as_before(tmp_path: Path) -> None:
    put(tmp_path, **images("photos/1.jpg", "photos/2.jpg"), **{"boxes.json": coco("old/1.jpg", "old/2.jpg")})
    assert [Path(record.image.path).name for record in read(str(tmp_path)).records] == ["1.jpg", "2.jpg"]


@pytest.mark.parametrize("whole", [True, False])
def test_a_path_that_leads_out_of_the_folder_is_followed(whole: bool, tmp_path: Path) -> None:
    put(tmp_path, **images("imgs/a.jpg"))
    name = str(tmp_path / "imgs/a.jpg") if whole else "../imgs/a.jpg"
    put(tmp_path, **{"tables/boxes.csv": f"filename,xmin,ymin,xmax,ymax,class\n{name},16,12,48,36,cell\n"})
    (record,) = read(str(tmp_path / "tables/boxes.csv")).records
    assert Path(record.image.path).resolve() == (tmp_path / "imgs/a.jpg").resolve()


def test_a_copied_labelme_file_is_for_the_image_that_it_is_called_like(tmp_path: Path) -> None:
    shapes = [{"label": "cell", "shape_type": "rectangle", "points": [[16, 12], [48, 36]]}]
    text = json.dumps({"imagePath": "a.jpg", "imageWidth": 64, "imageHeight": 48, "shapes": shapes})
    put(tmp_path, **images("a.jpg", "b.jpg"), **{"a.json": text, "b.json": text})
    assert splits(read(str(tmp_path))).keys() == {"a.jpg", "b.jpg"}
    assert found(tmp_path)["ambiguous-picture"] == [
        "it names a.jpg, which a.json is for; b.jpg, called like this file, was taken"
    ]


# -- which split ------------------------------------------------------------------------------------


def test_coco_as_it_is_downloaded_is_parted_by_its_own_splits(tmp_path: Path) -> None:
    put(tmp_path, **images("train2017/1.jpg", "val2017/2.jpg"),
        **{"annotations/instances_train2017.json": coco("1.jpg"), "annotations/instances_val2017.json": coco("2.jpg", first=2)})  # fmt: skip
    own = read(str(tmp_path)).splits
    assert (training_splits(own), validation_splits(own)) == ({"train2017"}, {"val2017"})


def test_splits_have_one_plain_name() -> None:
    assert [bare_split(split) for split in ("train2017", "Training", "valid", "dev", "testing", "2007", "odd")] == [
        "train", "train", "val", "val", "test", "2007", "odd"]  # fmt: skip
    assert training_splits(["train2014", "train2017", "val", None]) == {"train2014", "train2017", None}
    assert training_splits(["a", "b"]) == {"a", "b"}
    assert validation_splits(["test", "val"]) == {"val"}
    assert validation_splits(["val"]) == {"val"}


def voc(*stems: str, year: str = "") -> dict[str, str | bytes]:
    return {
        f"{year}{place}": content
        for stem in stems
        for place, content in (
            (f"JPEGImages/{stem}.jpg", b"image"),
            (f"Annotations/{stem}.xml", XML.format(name=f"{stem}.jpg")),
        )
    }


def test_trainval_beside_test_alone_is_what_is_trained_on(tmp_path: Path) -> None:
    lists = {"ImageSets/Main/trainval.txt": "1\n2\n", "ImageSets/Main/test.txt": "3\n"}
    put(tmp_path, **voc("1", "2", "3"), **lists)
    assert splits(read(str(tmp_path))) == {"1.jpg": "trainval", "2.jpg": "trainval", "3.jpg": "test"}


def test_two_years_of_voc_have_lists_of_their_own(tmp_path: Path) -> None:
    lists = {
        f"{year}/ImageSets/Main/{split}.txt": lines
        for year, split, lines in (
            ("VOC2007", "train", "1\n"),
            ("VOC2007", "val", "2\n"),
            ("VOC2012", "train", "2\n3\n"),
            ("VOC2012", "val", "4\n"),
        )
    }
    put(tmp_path, **voc("1", "2", year="VOC2007/"), **voc("2", "3", "4", year="VOC2012/"), **lists)
    known = {
        Path(record.source).relative_to(tmp_path).as_posix(): record.split
        for record in read(str(tmp_path)).records
    }
    assert known == {
        "VOC2007/Annotations/1.xml": "train",
        "VOC2007/Annotations/2.xml": "val",
        "VOC2012/Annotations/2.xml": "train",
        "VOC2012/Annotations/3.xml": "train",
        "VOC2012/Annotations/4.xml": "val",
    }


def test_a_list_may_name_images_with_their_extension(tmp_path: Path) -> None:
    put(
        tmp_path,
        **voc("1", "2"),
        **{"ImageSets/Main/train.txt": "1.jpg\n", "ImageSets/Main/val.txt": "2.jpg\n"},
    )
    assert splits(read(str(tmp_path))) == {"1.jpg": "train", "2.jpg": "val"}


def test_a_dataset_in_two_files_of_one_split_is_read_whole(tmp_path: Path) -> None:
    put(tmp_path, **images("1.jpg", "2.jpg"),
        **{"annotations/train_part1.json": coco("1.jpg"), "annotations/train_part2.json": coco("2.jpg", first=2)})  # fmt: skip
    assert splits(read(str(tmp_path))).keys() == {"1.jpg", "2.jpg"}


def test_a_file_that_repeats_a_part_of_another_is_not_read_and_said(tmp_path: Path) -> None:
    put(
        tmp_path,
        **images("1.jpg", "2.jpg"),
        **{"val.json": coco("1.jpg", "2.jpg"), "val_small.json": coco("1.jpg")},
    )
    assert len(read(str(tmp_path)).records) == 2
    assert found(tmp_path)["repeated-annotations"] == ["1 of its 1 images are in val.json, which is read"]


def test_the_last_split_in_a_name_is_meant(tmp_path: Path) -> None:
    put(tmp_path, **images("1.jpg", "2.jpg"),
        **{"test_project_train.json": coco("1.jpg"), "test_project_val.json": coco("2.jpg", first=2)})  # fmt: skip
    assert splits(read(str(tmp_path))) == {"1.jpg": "train", "2.jpg": "val"}


def test_one_path_for_training_and_validation_leaks_nothing(tmp_path: Path) -> None:
    put(tmp_path, **images("images/train/1.jpg", "images/val/2.jpg"),
        **{"labels/train/1.txt": LINE, "labels/val/2.txt": LINE,
           "data.yaml": "train: images/train\nval: images/val\nnames: [cell]\n"})  # fmt: skip
    path = str(tmp_path / "data.yaml")
    report, census = check(
        [DatasetPart(path, "train"), DatasetPart(path, "validation")], use_cache=False, processes=1
    )
    assert "split-leak" not in {finding.slug for finding in report.findings}
    assert census.images == 2


# -- YOLO -------------------------------------------------------------------------------------------


def test_images_that_the_yaml_leaves_out_are_no_mistake(tmp_path: Path) -> None:
    put(tmp_path, **images("images/train/1.jpg", "images/test/2.jpg"),
        **{"labels/train/1.txt": LINE, "labels/test/2.txt": LINE, "data.yaml": "train: images/train\nnames: [cell]\n"})  # fmt: skip
    assert splits(read(str(tmp_path))).keys() == {"train/1.jpg"}


def test_lists_with_whole_paths_of_another_machine_keep_their_folders(tmp_path: Path) -> None:
    put(tmp_path, **images("images/train/1.jpg", "images/val/1.jpg"),
        **{"labels/train/1.txt": LINE, "labels/val/1.txt": LINE,
           "train.txt": "/home/a/set/images/train/1.jpg\n", "val.txt": "/home/a/set/images/val/1.jpg\n",
           "data.yaml": "train: train.txt\nval: val.txt\nnames: [cell]\n"})  # fmt: skip
    assert splits(read(str(tmp_path))) == {"train/1.jpg": "train", "val/1.jpg": "val"}


def test_a_list_that_is_not_there_is_said_and_other_keys_are_no_splits(tmp_path: Path) -> None:
    put(tmp_path, **images("images/val/1.jpg"),
        **{"labels/val/1.txt": LINE,
           "data.yaml": "train: lists/train.txt\nval: images/val\nchannels: 3\ntask: detect\nnames: [cell]\n"})  # fmt: skip
    assert found(tmp_path)["listed-but-absent"] == ["train: there is no image in lists/train.txt"]


def test_keypoints_that_the_yaml_above_declares_are_no_outline(tmp_path: Path) -> None:
    put(tmp_path, **images("train/images/1.jpg"),
        **{"train/labels/1.txt": "0 .5 .5 .2 .2 .45 .45 .55 .55\n",
           "data.yaml": "train: train/images\nkpt_shape: [2, 2]\nnames: [cell]\n"})  # fmt: skip
    (record,) = read(str(tmp_path / "train")).records
    assert record.boxes[0].corners == pytest.approx((25.6, 19.2, 38.4, 28.8))


# -- taken for something else -----------------------------------------------------------------------


def test_words_of_coco_that_look_like_another_format_are_only_words(tmp_path: Path) -> None:
    document = json.loads(coco("a.jpg"))
    document["categories"] = [{"id": 1, "name": "caption", "supercategory": "shapes"}]
    put(tmp_path, **images("a.jpg"), **{"x.json": json.dumps(document)})
    assert read(str(tmp_path)).classes == ("caption",)


def test_coco_with_its_keys_in_the_order_of_the_alphabet_is_recognised(tmp_path: Path) -> None:
    names = [f"{'long' * 20}{number}.jpg" for number in range(14_000)]
    put(tmp_path, **{"x.json": json.dumps(json.loads(coco(*names)), sort_keys=True)})
    from holdfast.data.formats.coco import looks_like_coco

    assert (tmp_path / "x.json").stat().st_size > 2 << 20
    assert looks_like_coco(str(tmp_path / "x.json"))


def test_a_shard_whose_first_length_looks_like_a_compressed_file_is_read() -> None:
    from holdfast.data.files.tfrecord_framing import HEADER, masked_crc
    from holdfast.data.formats.tfrecord import _refused

    length = (0x5E78).to_bytes(8, "little")
    header = HEADER.pack(0x5E78, masked_crc(length))
    assert header[:2] == b"\x78\x5e"
    assert "zlib" not in _refused_of(header, _refused)


def _refused_of(header: bytes, refused: Any) -> str:
    import tempfile

    with tempfile.NamedTemporaryFile(suffix=".tfrecord") as file:
        file.write(header + bytes(0x5E78 + 4))
        file.flush()
        return str(refused(file.name))


def test_a_photograph_with_a_film_behind_it_is_whole_and_a_cut_one_is_not(tmp_path: Path) -> None:
    whole = made.image(64, 48, 1)
    put(
        tmp_path,
        **{"a.jpg": whole + b"\x00film" * 60_000, "b.jpg": whole[:-2], "train.json": coco("a.jpg", "b.jpg")},
    )
    report, _ = check([DatasetPart(str(tmp_path))], use_cache=False, processes=1)
    (cut,) = [finding for finding in report.findings if finding.slug == "truncated-image"]
    assert [Path(place.file).name for place in cut.places] == ["b.jpg"]


def test_files_of_other_kinds_beside_annotations_stop_nothing(tmp_path: Path) -> None:
    shapes = [{"label": "cell", "shape_type": "rectangle", "points": [[16, 12], [48, 36]]}]
    text = json.dumps({"imagePath": "a.jpg", "imageWidth": 64, "imageHeight": 48, "shapes": shapes})
    put(tmp_path / "labelme", **images("set/a.jpg"), **{"set/a.json": text, "set/classes.json": '["cell"]'})
    put(tmp_path / "voc", **voc("a"), **{"Annotations/settings.xml": "<settings><a/></settings>"})
    assert [len(read(str(tmp_path / name)).records) for name in ("labelme", "voc")] == [1, 1]


def test_records_that_hold_display_names_have_each_class_once(tmp_path: Path) -> None:
    from holdfast.data.formats.label_map import Label
    from holdfast.data.formats.tfrecord import _with_display_names

    labels = (Label(1, "/m/01", "Cat"), Label(2, "/m/02", "Dog"))
    assert [label.name for label in _with_display_names(labels, {("Cat", 1)})] == ["Cat", "Dog"]
    assert _with_display_names(labels, {("/m/01", 1)}) == labels


def test_a_class_without_a_box_is_no_empty_image(tmp_path: Path) -> None:
    put(tmp_path, **images("a.jpg", "b.jpg", "c.jpg"),
        **{"boxes.csv": "filename,xmin,ymin,xmax,ymax,class\na.jpg,16,12,48,36,cell\nb.jpg,,,,,cell\nc.jpg,,,,,\n"})  # fmt: skip
    said = found(tmp_path)
    assert said["shape-without-box"] == ["line 3: a class is named, and no box"]
    assert said["image-without-boxes"] == ["no boxes"]  # c.jpg


@pytest.mark.parametrize("before", ["sep=;\n", "\n"])
def test_what_excel_puts_before_a_table_is_passed_over(before: str, tmp_path: Path) -> None:
    put(
        tmp_path,
        **images("a.jpg"),
        **{"boxes.csv": before + "filename;xmin;ymin;xmax;ymax;class\na.jpg;16;12;48;36;cell\n"},
    )
    assert [record.boxes[0].corners for record in read(str(tmp_path)).records] == [(16, 12, 48, 36)]


def test_an_image_that_coco_lists_twice_in_the_same_words_counts_once(tmp_path: Path) -> None:
    document = json.loads(coco("a.jpg"))
    document["images"] *= 2
    put(tmp_path, **images("a.jpg"), **{"x.json": json.dumps(document)})
    assert len(read(str(tmp_path)).records) == 1


def test_a_glob_in_the_current_folder_keeps_its_letters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from holdfast.data.writing.convert import convert

    put(tmp_path / "set", **images("a.jpg"), **{"x.json": coco("a.jpg")})
    convert(str(tmp_path / "set"), str(tmp_path / "out"), to="tfrecord")
    monkeypatch.chdir(tmp_path / "out")
    (shard,) = sorted(Path().rglob("*.tfrecord*"))
    monkeypatch.chdir(shard.parent)
    assert len(read(f"{shard.name[:3]}*").records) == 1


def test_a_name_that_is_not_utf8_is_written_under_one_that_is(tmp_path: Path) -> None:
    from holdfast.data.records import ImageRef, Record
    from holdfast.data.writing.output_names import image_names

    assert image_names([Record("1", "caf\udce9.jpg", ImageRef("x"))]) == ["caf_.jpg"]
