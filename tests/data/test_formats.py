"""Each format read from text written by hand, with the boxes computed by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from holdfast.data.reading.detect_format import open_sources
from holdfast.data.reading.load import parse_all, read
from holdfast.data.records import Box, Record
from holdfast.errors import DataError, HoldfastError, PathMissing, UnknownFormat, UnreadableAnnotation

from . import made


def corners(record: Record) -> list[tuple[object, ...]]:
    return [(box.name, *box.corners) for box in record.boxes]


def images(folder: Path, *names: str, size: tuple[int, int] = (100, 50)) -> Path:
    for number, name in enumerate(names):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(made.image(*size, seed=number))
    return folder


# -- VOC ----------------------------------------------------------------------------------------


def test_voc_counts_from_one_and_includes_both_corners(tmp_path: Path) -> None:
    made.voc(tmp_path, {"a.jpg": (made.image(), (64, 48), [("cat", 1, 1, 64, 48), ("dog", 11, 21, 30, 40)])})
    assert corners(read(str(tmp_path)).records[0]) == [("cat", 0, 0, 64, 48), ("dog", 10, 20, 30, 40)]


def test_voc_that_has_a_zero_counts_from_zero(tmp_path: Path) -> None:
    boxes = [("cat", 0, 1, 64, 48), ("dog", 11, 21, 30, 40)]
    made.voc(tmp_path, {"a.jpg": (made.image(), (64, 48), boxes)})
    assert corners(read(str(tmp_path)).records[0]) == boxes


def test_voc_equal_corners_stay_a_box_without_area(tmp_path: Path) -> None:
    made.voc(tmp_path, {"a.jpg": (made.image(), (64, 48), [("cat", 20, 20, 20, 20)])})
    assert corners(read(str(tmp_path)).records[0]) == [("cat", 20, 20, 20, 20)]


def test_voc_polygon_before_the_box_and_parts_inside(tmp_path: Path) -> None:
    images(tmp_path, "a.jpg")
    (tmp_path / "a.xml").write_text(
        "<annotation><filename>a.jpg</filename><object><name>cat</name>"
        "<polygon><x1>90</x1><y1>40</y1><x2>95</x2><y2>45</y2></polygon>"
        "<part><name>head</name><bndbox><xmin>3</xmin><ymin>3</ymin><xmax>5</xmax><ymax>5</ymax></bndbox></part>"
        "<difficult>1</difficult>"
        "<bndbox><xmin>11</xmin><ymin>6</ymin><xmax>40</xmax><ymax>30</ymax></bndbox></object>"
        "<object><name>dog</name><polygon><x1>5</x1><y1>8</y1><x2>50</x2><y2>9</y2><x3>7</x3><y3>33</y3></polygon></object>"
        "</annotation>"
    )
    record = read(str(tmp_path)).records[0]
    assert corners(record) == [("cat", 10, 5, 40, 30), ("dog", 4, 7, 50, 33)]
    assert [box.difficult for box in record.boxes] == [True, False]


def test_voc_finds_the_image_by_its_own_name_when_the_text_is_wrong(tmp_path: Path) -> None:
    images(tmp_path, "JPEGImages/b.JPG")
    (tmp_path / "Annotations").mkdir()
    (tmp_path / "Annotations" / "b.xml").write_text(made.voc_xml("C:\\old\\IMG_1.jpg", (100, 50), []))
    record = read(str(tmp_path)).records[0]
    assert record.image.path == str(tmp_path / "JPEGImages" / "b.JPG")
    assert (record.id, record.file_name) == ("b", "b.JPG")


def test_voc_splits_come_from_image_sets(tmp_path: Path) -> None:
    made.voc(tmp_path, {f"{n}.jpg": (made.image(seed=n), (64, 48), []) for n in range(4)})
    sets = tmp_path / "ImageSets" / "Main"
    sets.mkdir(parents=True)
    for split, lines in (
        ("train", "0\n1\n"),
        ("val", "2\n"),
        ("trainval", "0\n1\n2\n"),
        ("cat_train", "0 1\n1 -1\n"),
    ):
        (sets / f"{split}.txt").write_text(lines)
    assert [record.split for record in read(str(tmp_path)).records] == ["train", "train", "val", None]


# -- COCO ---------------------------------------------------------------------------------------


def test_coco_with_sparse_ids_crowds_and_categories_last(tmp_path: Path) -> None:
    images(tmp_path / "images", "a.jpg", "b.jpg")
    document = {
        "annotations": [
            {
                "id": 7,
                "image_id": 900,
                "category_id": 44,
                "bbox": [1.5, 2, 10, 20],
                "iscrowd": 1,
                "area": 12.5,
            },
            {"id": 9, "image_id": 900, "category_id": 3, "segmentation": [[5, 6, 25, 8, 9, 30]]},
        ],
        "images": [
            {"id": 900, "file_name": "a.jpg", "width": 100, "height": 50},
            {"id": 2, "file_name": "b.jpg"},
        ],
        "categories": [{"id": 44, "name": "cat"}, {"id": 3, "name": "dog"}],
    }
    (tmp_path / "x.json").write_text(json.dumps(document))
    dataset = read(str(tmp_path))
    assert (dataset.classes, dataset.class_ids) == (("dog", "cat"), (3, 44))
    first, second = dataset.records
    assert (first.id, second.id) == ("900", "2")
    assert first.boxes == (
        Box(1.5, 2, 11.5, 22, "cat", crowd=True, id=7, area=12.5),
        Box(5, 6, 25, 30, "dog", id=9),
    )
    assert second.boxes == ()
    assert second.image.path == str(tmp_path / "images" / "b.jpg")


def test_coco_strangers_are_named(tmp_path: Path) -> None:
    images(tmp_path, "a.jpg")
    made.coco(
        tmp_path,
        [{"id": 1, "file_name": "a.jpg"}],
        [
            {"id": 1, "image_id": 5, "category_id": 1, "bbox": [1, 1, 2, 2]},
            {"id": 2, "image_id": 1, "category_id": 8, "bbox": [1, 1, 2, 2]},
            {"id": 3, "image_id": 1, "category_id": 1, "bbox": [1, 1, 2]},
        ],
        [{"id": 1, "name": "cat"}],
    )
    (source,) = open_sources(str(tmp_path))
    assert [(problem.finding, problem.detail) for problem in source.problems()] == [
        ("unreadable-annotation", "annotation 3: its bbox is [1, 1, 2], not [x, y, width, height]"),
        ("annotation-without-image", "annotation 1: no image has id 5"),
        ("unknown-class", "category_id 8 is not among the categories"),
    ]
    with pytest.raises(DataError) as caught:
        read(str(tmp_path))
    assert caught.value.what == "3 annotations cannot be used"


# -- YOLO ---------------------------------------------------------------------------------------


def test_yolo_boxes_polygons_and_negatives(tmp_path: Path) -> None:
    images(tmp_path, "images/train/a.jpg", "images/train/b.jpg", "images/val/c.jpg")
    (tmp_path / "labels" / "train").mkdir(parents=True)
    (tmp_path / "labels" / "val").mkdir()
    (tmp_path / "labels" / "train" / "a.txt").write_text("1 0.5 0.5 0.2 0.4\n0 0.1 0.2 0.5 0.2 0.3 0.8\n")
    (tmp_path / "labels" / "val" / "c.txt").write_text("")
    (tmp_path / "data.yaml").write_text(
        "path: ../somewhere\ntrain: images/train\nval: images/val\nnames: {0: cat, 1: dog}\n"
    )
    dataset = read(str(tmp_path))
    by_name = {record.file_name: record for record in dataset.records}
    assert corners(by_name["train/a.jpg"]) == [("dog", 40, 15, 60, 35), ("cat", 10, 10, 50, 40)]
    assert {name: (len(record.boxes), record.split) for name, record in by_name.items()} == {
        "train/a.jpg": (2, "train"), "train/b.jpg": (0, "train"), "val/c.jpg": (0, "val")}  # fmt: skip
    assert dataset.classes == ("cat", "dog")


def test_yolo_beside_the_images_with_classes_txt(tmp_path: Path) -> None:
    images(tmp_path, "a.jpg")
    (tmp_path / "a.txt").write_text("0 0.5 0.5 1 1\n")
    (tmp_path / "classes.txt").write_text("my cat\n")
    assert corners(read(str(tmp_path)).records[0]) == [("my cat", 0, 0, 100, 50)]


def test_roboflow_layout(tmp_path: Path) -> None:
    images(tmp_path, "train/images/a.jpg", "valid/images/b.jpg")
    for split, name in (("train", "a"), ("valid", "b")):
        (tmp_path / split / "labels").mkdir()
        (tmp_path / split / "labels" / f"{name}.txt").write_text("0 0.5 0.5 0.5 0.5\n")
    (tmp_path / "data.yaml").write_text(
        "train: ../train/images\nval: ../valid/images\nnc: 1\nnames: ['cat']\n"
    )
    dataset = read(str(tmp_path / "data.yaml"))
    assert [(record.split, len(record.boxes)) for record in dataset.records] == [("train", 1), ("val", 1)]


def test_yolo_upright_size_of_a_turned_image(tmp_path: Path) -> None:
    (tmp_path / "a.jpg").write_bytes(made.rotated(100, 50, 6))
    (tmp_path / "a.txt").write_text("0 0.5 0.5 1 1\n")
    assert corners(read(str(tmp_path)).records[0]) == [("0", 0, 0, 50, 100)]


# -- labelme ------------------------------------------------------------------------------------


def test_labelme_shapes(tmp_path: Path) -> None:
    images(tmp_path, "a.jpg", "empty.jpg")
    shapes = [
        {"label": "p", "points": [[5, 6], [20, 8], [9, 30]], "shape_type": "polygon"},
        {"label": "r", "points": [[40, 30], [10, 5]], "shape_type": "rectangle"},
        {"label": "c", "points": [[50, 20], [53, 24]], "shape_type": "circle"},
        {"label": "dot", "points": [[5, 5]], "shape_type": "point"},
    ]
    (tmp_path / "a.json").write_text(
        json.dumps({"shapes": shapes, "imagePath": "..\\x\\a.jpg", "imageData": None})
    )
    (source,) = open_sources(str(tmp_path))
    first, second = parse_all(source)
    assert first.record is not None and second.record is not None
    assert corners(first.record) == [("p", 5, 6, 20, 30), ("r", 10, 5, 40, 30), ("c", 45, 15, 55, 25)]
    assert [problem.detail for problem in first.problems] == [
        "shape 4: 'dot' is marked by a point, which is no box"
    ]
    assert (second.record.file_name, second.record.boxes) == ("empty.jpg", ())


# -- CSV ----------------------------------------------------------------------------------------

ONE_BOX = [("cat", 10, 5, 40, 30)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("filename,width,height,class,xmin,ymin,xmax,ymax\na.jpg,100,50,cat,10,5,40,30\n", ONE_BOX),
        ("image,xmin,ymin,xmax,ymax,label\na.jpg,10,5,40,30,cat\n", ONE_BOX),
        ("filename,cell_type,xmin,xmax,ymin,ymax\na.jpg,cat,10,40,5,30\n", ONE_BOX),
        (
            "\ufeffImage_Path; Label; X1; Y1; X2; Y2\r\nimgs\\a.jpg; cat; 10; 5; 40; 30\r\n",
            [("cat", 10, 5, 40, 30)],
        ),
        ("image_id,x,y,w,h,category\na,10,5,30,25,cat\n", ONE_BOX),
        ('image_id,width,height,bbox,source\na,100,50,"[10, 5, 30.0, 25]",x\n', [("object", 10, 5, 40, 30)]),
        ("a.jpg,10,5,40,30,cat\n", ONE_BOX),
        ("a.jpg,,,,,\n", []),
        ("ImageID,LabelName,XMin,XMax,YMin,YMax,IsGroupOf\na,cat,0.1,0.4,0.1,0.6,1\n", ONE_BOX),
        ("TRAIN,gs://b/a.jpg,cat,0.1,0.1,,,0.4,0.6,,\n", ONE_BOX),
        (
            "filename,file_size,region_count,region_id,region_shape_attributes,region_attributes\n"
            'a.jpg,5,1,0,"{""name"":""rect"",""x"":10,""y"":5,""width"":30,""height"":25}","{""type"":""cat""}"\n',
            ONE_BOX,
        ),
    ],
)
def test_csv_headers(tmp_path: Path, text: str, expected: list[tuple[object, ...]]) -> None:
    images(tmp_path, "a.jpg")
    (tmp_path / "boxes.csv").write_text(text, encoding="utf-8")
    (record,) = read(str(tmp_path / "boxes.csv")).records
    assert corners(record) == expected
    assert record.image.path.endswith("a.jpg")


def test_csv_rows_that_cannot_be_read_are_named_by_line(tmp_path: Path) -> None:
    images(tmp_path, "a.jpg")
    (tmp_path / "b.csv").write_text(
        "filename,class,xmin,ymin,xmax,ymax\na.jpg,cat,1,2,x,4\n,cat,1,2,3,4\na.jpg,,1,2,3,4\n"
    )
    (source,) = open_sources(str(tmp_path / "b.csv"))
    assert [problem.detail for problem in source.problems()] == [
        "line 2: the box is '1, 2, x, 4', not four numbers",
        "line 3: no image is named",
        "line 4: no class is named",
    ]


# -- finding the format -------------------------------------------------------------------------


def test_nothing_is_guessed_from_nothing(tmp_path: Path) -> None:
    with pytest.raises(PathMissing):
        open_sources(str(tmp_path / "nowhere"))
    with pytest.raises(UnknownFormat) as caught:
        open_sources(str(tmp_path))
    assert caught.value.found == ("the folder is empty",)
    images(tmp_path, "a.jpg")
    with pytest.raises(UnknownFormat) as caught:
        open_sources(str(tmp_path))
    assert caught.value.found == ("files: 1 .jpg", "1 image, and no annotation file")
    with pytest.raises(UnknownFormat, match="one image"):
        open_sources(str(tmp_path / "a.jpg"))


def test_broken_files_are_named(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"images": [')
    with pytest.raises(UnreadableAnnotation) as caught:
        open_sources(str(tmp_path / "a.json"))
    assert caught.value.where == str(tmp_path / "a.json")


def test_a_dataset_behind_a_url() -> None:
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    memory.pipe("/set/images/a b.jpg", made.image())
    memory.pipe("/set/images/a b.xml", made.voc_xml("a b.jpg", (64, 48), [("cat", 1, 1, 9, 9)]).encode())
    dataset = read("memory://set")
    (record,) = dataset.records
    assert corners(record) == [("cat", 0, 0, 9, 9)]
    assert record.image.read()[:2] == b"\xff\xd8"


def test_linked_folders_are_followed_and_loops_are_not(tmp_path: Path) -> None:
    images(tmp_path / "disk", "a.jpg")
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "images").symlink_to(tmp_path / "disk")
    (tmp_path / "set" / "loop").symlink_to(tmp_path / "set")
    (tmp_path / "set" / "a.xml").write_text(made.voc_xml("a.jpg", (100, 50), []))
    (record,) = read(str(tmp_path / "set")).records
    assert record.image.path == str(tmp_path / "set" / "images" / "a.jpg")


def test_one_file_says_nothing_of_the_images_around_it(tmp_path: Path) -> None:
    images(tmp_path, "a.jpg", "b.jpg")
    (tmp_path / "a.json").write_text(json.dumps({"shapes": [], "imagePath": "a.jpg", "points": []}))
    assert [record.file_name for record in read(str(tmp_path / "a.json")).records] == ["a.jpg"]
    assert [record.file_name for record in read(str(tmp_path)).records] == ["a.jpg", "b.jpg"]


def test_a_text_of_many_numbers_and_a_word_is_no_yolo(tmp_path: Path) -> None:
    """Read at once: a pattern in which a number can be read in several ways would take for ever."""
    (tmp_path / "notes.txt").write_text("0 " + "123456 " * 60 + "x\n")
    (tmp_path / "a.jpg").write_bytes(made.image())
    with pytest.raises(HoldfastError):
        read(str(tmp_path))
