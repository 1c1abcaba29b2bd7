"""An image without boxes is a negative only where nothing was lost: what is left out is said, and listed once."""

# ruff: noqa: E501  one dataset a line: broken over several, the tables cannot be read

from __future__ import annotations

import base64
import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from holdfast.data.checking.dataset_check import DatasetPart, check
from holdfast.data.checking.inspect_page import inspect
from holdfast.data.images.base64_images import as_files
from holdfast.data.reading.load import read
from holdfast.data.writing.convert import convert
from holdfast.data.writing.repair import repair

from . import made
from .test_strange_sets import ANNOTATION, BOX, CATEGORY, HEADER, IMAGE, LINE, put

YAML = "train: images\nnames: [cell]\n"
SHAPE = {"label": "cell", "points": [[16, 12], [48, 36]], "shape_type": "rectangle"}
POINT = {"label": "tip", "points": [[16, 12]], "shape_type": "point"}
POINTS = {"label": "tip", "points": [[16, 12], [20, 20]], "shape_type": "points"}


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))


def labelme(*shapes: Any, name: str = "a.jpg", **more: Any) -> str:
    return json.dumps({"shapes": list(shapes), "imagePath": name, **more})


def findings(path: Path) -> dict[str, Any]:
    report, _ = check([DatasetPart(str(path))], use_cache=False, processes=1)
    return {finding.slug: finding for finding in report.findings}


def rows(path: Path) -> list[tuple[str, str, str, str]]:
    """What the list of changes says: the file's own name, what was done, to what, and why."""
    with open(path / "changes.csv", encoding="utf-8") as handle:
        table = list(csv.reader(handle))[1:]
    return [(row[0].rsplit("/", 1)[-1], row[1], row[2], row[3]) for row in table]


# -- images inside labelme's JSON -----------------------------------------------------------------


def embedded(folder: Path, data: bytes, name: str = "..\\pics\\a.jpg") -> None:
    text = base64.b64encode(data).decode()
    put(folder, **{"a.json": labelme(SHAPE, name=name, imageData=text, imageWidth=64, imageHeight=48)})


@pytest.mark.parametrize("to", ["coco", "voc", "yolo", "tfrecord"])
def test_an_image_inside_the_json_is_converted_and_repaired(tmp_path: Path, to: str) -> None:
    data = made.image(64, 48, 5)
    embedded(tmp_path / "set", data)
    convert(str(tmp_path / "set"), str(tmp_path / "copy"), to)
    repair(str(tmp_path / "set"), str(tmp_path / "mended"), to=to)
    for folder in ("copy", "mended"):
        (record,) = read(str(tmp_path / folder)).records
        assert record.image.read() == data and record.file_name == "a.jpg"
        assert [(box.name, *box.corners) for box in record.boxes] == [("cell", *BOX)]


def test_an_image_inside_the_json_is_checked_and_shown(tmp_path: Path) -> None:
    embedded(tmp_path / "set", made.image(64, 48, 5, format="PNG"))
    found = findings(tmp_path / "set")
    assert found["picture-inside-annotation"].severity == "warning"
    assert found["wrong-extension"].places[0].file.endswith("a.json (a.jpg)")
    assert not {"missing-image", "annotation-without-image", "size-mismatch"} & set(found)
    assert "cannot be shown" not in Path(inspect(str(tmp_path / "set"), str(tmp_path / "p.html"))).read_text()


def test_an_image_inside_the_json_is_redrawn_where_it_has_to_be(tmp_path: Path) -> None:
    embedded(tmp_path / "set", made.image(seed=7, mode="CMYK"))
    repair(str(tmp_path / "set"), str(tmp_path / "mended"))
    (record,) = read(str(tmp_path / "mended")).records
    with Image.open(io.BytesIO(record.image.read())) as written:
        assert (written.mode, written.size) == ("RGB", (64, 48))
    assert [(box.name, *box.corners) for box in record.boxes] == [("cell", *BOX)]


@pytest.mark.parametrize("text", ["no base64 at all!", base64.b64encode(b"no image").decode()])
def test_what_is_inside_the_json_and_no_image(tmp_path: Path, text: str) -> None:
    put(tmp_path, **{"a.json": labelme(SHAPE, imageData=text)})
    assert findings(tmp_path)["unreadable-image"].places[0].file.endswith("a.json (a.jpg)")


def test_what_reads_files_only_finds_the_image_in_the_cache(tmp_path: Path) -> None:
    data = made.image(64, 48, 5, format="PNG")
    embedded(tmp_path, data)
    (first,), (second,) = (as_files(read(str(tmp_path))).records for _ in range(2))
    assert first == second and first.image.path.endswith(".png") and not first.image.inside
    assert Path(first.image.path).read_bytes() == data and first.image.declared_size == (64, 48)


# -- points -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [POINT, POINTS])
def test_points_are_no_boxes_and_no_errors(tmp_path: Path, shape: Any) -> None:
    put(tmp_path / "set", **{"a.jpg": b"image", "a.json": labelme(SHAPE, shape)},
        **{"b.jpg": b"image", "b.json": labelme(shape, name="b.jpg")})  # fmt: skip
    found = findings(tmp_path / "set")
    assert (found["shape-without-box"].severity, found["shape-without-box"].count) == ("warning", 2)
    assert (
        found["shape-without-box"].places[0].detail == "shape 2: 'tip' is marked by a point, which is no box"
    )
    assert not {"unreadable-annotation", "image-without-boxes"} & set(found)
    (record,) = read(str(tmp_path / "set")).records  # b.jpg shows a tip, so it is no negative
    assert record.file_name == "a.jpg" and len(record.boxes) == 1
    repair(str(tmp_path / "set"), str(tmp_path / "copy"))
    assert rows(tmp_path / "copy") == [
        ("a.json", "left out", "point", "shape-without-box"),
        ("b.json", "left out", "point", "shape-without-box"),
        ("b.jpg", "left out", "image", "unreadable-annotation"),
    ]


def test_points_of_via_are_no_errors(tmp_path: Path) -> None:
    header = "filename,region_shape_attributes,region_attributes\n"
    point = 'a.jpg,"{""name"":""point"",""cx"":16,""cy"":12}","{""type"":""tip""}"\n'
    rect = 'a.jpg,"{""name"":""rect"",""x"":16,""y"":12,""width"":32,""height"":24}","{""type"":""cell""}"\n'
    put(tmp_path, **{"a.jpg": b"image", "via.csv": header + point + rect})
    assert findings(tmp_path)["shape-without-box"].places[0].detail == "line 2: a point, which is no box"
    assert [len(record.boxes) for record in read(str(tmp_path)).records] == [1]


# -- YOLO -------------------------------------------------------------------------------------------


def test_a_score_is_said(tmp_path: Path) -> None:
    text = LINE + "0 0.5 0.5 0.5 0.4 0.93\n0 0.4 0.5 0.5 0.5 0.2\n"
    put(tmp_path, **{"images/a.jpg": b"image", "labels/a.txt": text, "data.yaml": YAML})
    found = findings(tmp_path)["score-column"]
    assert (found.severity, found.count) == ("warning", 2)
    said = "line 2: '0 0.5 0.5 0.5 0.4 0.93' has a sixth number, taken for a score"
    assert found.places[0].detail == said and found.places[0].file.endswith("a.txt")


def test_a_sixth_number_that_is_no_score_is_no_box(tmp_path: Path) -> None:
    put(
        tmp_path,
        **{"images/a.jpg": b"image", "labels/a.txt": "0 0.5 0.5 0.5 0.4 1.57\n", "data.yaml": YAML},
    )
    (place,) = findings(tmp_path)["unreadable-annotation"].places
    assert (
        place.detail == "line 1: 6 fields, of which the last, 1.57, is no score; turned boxes are not read so"
    )


def test_an_orphan_is_counted_once(tmp_path: Path) -> None:
    put(
        tmp_path / "set",
        **{"images/a.jpg": b"image", "labels/a.txt": LINE, "labels/ghost.txt": LINE, "data.yaml": YAML},
    )
    found = findings(tmp_path / "set")
    assert found["annotation-without-image"].count == 1 and "missing-image" not in found
    repair(str(tmp_path / "set"), str(tmp_path / "copy"))
    assert rows(tmp_path / "copy") == [("ghost.txt", "left out", "annotation", "annotation-without-image")]


# -- annotations that cannot be read ----------------------------------------------------------------

PAIR = [IMAGE, {**IMAGE, "id": 8, "file_name": "b.jpg"}]
BAD_XML = made.voc_xml("b.jpg", (64, 48), [("cell", 1, 2, "x", 4)])  # type: ignore[list-item]
GOOD_XML = made.voc_xml("a.jpg", (64, 48), [("cell", 17, 13, 48, 36)])


def coco(annotation: dict[str, Any]) -> str:
    second = {**ANNOTATION, "id": 2, "image_id": 8, **annotation}
    return json.dumps({"images": PAIR, "annotations": [ANNOTATION, second], "categories": [CATEGORY]})


LOST: dict[str, dict[str, str | bytes]] = {
    "yolo, no line is one": {"labels/a.txt": LINE, "labels/b.txt": "\x00\x01 garbage\n", "data.yaml": "train: .\nnames: [cell]\n"},
    "yolo, no class has the number": {"labels/a.txt": LINE, "labels/b.txt": "7 0.5 0.5 0.5 0.5\n", "data.yaml": "train: .\nnames: [cell]\n"},
    "labelme, broken JSON": {"j/a.json": labelme(SHAPE), "j/b.json": '{"shapes": ['},
    "labelme, broken JSON beside its image": {"a.json": labelme(SHAPE), "b.json": '{"shapes": ['},
    "labelme, broken shape": {"j/a.json": labelme(SHAPE), "j/b.json": labelme({"label": "cell", "points": [[1, "x"]]}, name="b.jpg")},
    "voc, broken XML": {"x/a.xml": GOOD_XML, "x/b.xml": "<annotation><object>"},
    "voc, broken box": {"x/a.xml": GOOD_XML, "x/b.xml": BAD_XML},
    "coco, no box": {"c.json": coco({"bbox": None})},
    "coco, no such category": {"c.json": coco({"category_id": 99})},
    "coco, not finite": {"c.json": coco({"bbox": [1, 2, float("inf"), 4]})},
    "csv, no numbers": {"t.csv": HEADER + "a.jpg,64,48,cell,16,12,48,36\nb.jpg,64,48,cell,x,12,48,36\n"},
}  # fmt: skip


@pytest.mark.parametrize("kind", LOST)
def test_an_image_whose_annotations_are_lost_is_no_negative(tmp_path: Path, kind: str) -> None:
    put(tmp_path / "set", **{"a.jpg": b"image", "b.jpg": b"image"}, **LOST[kind])
    assert not {"image-without-boxes", "image-without-annotation"} & set(findings(tmp_path / "set"))
    repaired = repair(str(tmp_path / "set"), str(tmp_path / "copy"))
    assert [record.file_name for record in repaired.dataset.records] == ["a.jpg"]
    assert rows(tmp_path / "copy").count(("b.jpg", "left out", "image", "unreadable-annotation")) == 1
    assert [record.file_name for record in read(str(tmp_path / "copy")).records] == ["a.jpg"]


@pytest.mark.parametrize("text", ["", "\n\n"])
def test_an_empty_text_is_a_negative(tmp_path: Path, text: str) -> None:
    put(tmp_path / "set", **{"images/a.jpg": b"image", "labels/a.txt": LINE, "images/b.jpg": b"image",
                             "labels/b.txt": text, "data.yaml": YAML})  # fmt: skip
    assert findings(tmp_path / "set")["image-without-boxes"].count == 1
    assert len(repair(str(tmp_path / "set"), str(tmp_path / "copy")).dataset.records) == 2


# -- tables without a header ------------------------------------------------------------------------


def table(folder: Path, lines: list[tuple[float, ...]], size: tuple[int, int], header: str = "") -> Path:
    for number in range(len(lines)):
        put(folder, **{f"{number}.jpg": made.image(*size, number)})
    body = "".join(
        f"{n}.jpg,{','.join(f'{value:g}' for value in line)},cell\n" for n, line in enumerate(lines)
    )
    put(folder, **{"t.csv": header + body})
    return folder


def corners(folder: Path) -> list[tuple[float, ...]]:
    return [box.corners for record in read(str(folder)).records for box in record.boxes]


PERCENT = [(12.5, 25.0, 50.0, 75.25), (5.5, 10.2, 98.5, 91.1), (30.25, 20.5, 60.5, 99.25)]
Lines = list[tuple[float, ...]]


@pytest.mark.parametrize(
    ("lines", "size"),
    [
        (PERCENT, (640, 480)),
        (PERCENT, (64, 48)),
        ([(10, 20, 70, 80), (5, 5, 90, 99), (40, 50, 98, 97)], (64, 48)),
    ],
)
def test_percent_without_a_header(tmp_path: Path, lines: Lines, size: tuple[int, int]) -> None:
    table(tmp_path, lines, size)
    wanted = [tuple(value * side / 100 for value, side in zip(line, size * 2, strict=True)) for line in lines]
    assert [pytest.approx(box) for box in corners(tmp_path)] == wanted
    found = findings(tmp_path)["percent-by-evidence"]
    assert found.severity == "warning" and found.places[0].file.endswith("t.csv")


def test_percent_under_a_header_that_does_not_say_so_needs_many_boxes(tmp_path: Path) -> None:
    lines = [tuple(value + n / 100 for value in PERCENT[n % 3]) for n in range(21)]
    table(tmp_path, lines, (640, 480), "filename,xmin,ymin,xmax,ymax,class\n")
    assert corners(tmp_path)[0] == pytest.approx((80.0, 120.0, 320.0, 361.2))
    assert "percent-by-evidence" in findings(tmp_path)


def test_percent_of_a_corner_and_a_size_without_a_header(tmp_path: Path) -> None:
    lines: Lines = [
        (50.5, 40.5, 20.5, 20.5),
        (70.25, 60.5, 25.5, 35.25),
        (10.5, 80.5, 30.5, 15.5),
        (60.5, 5.5, 39.5, 80.5),
    ]
    table(tmp_path, lines, (640, 480))
    x, y, w, h = lines[0]
    assert corners(tmp_path)[0] == pytest.approx((x * 6.4, y * 4.8, (x + w) * 6.4, (y + h) * 4.8))


PIXELS: dict[str, tuple[Lines, tuple[int, int], str]] = {
    "small boxes in a corner": ([(3, 4, 30, 40), (5, 6, 22, 33), (1, 2, 40, 41), (9, 9, 20, 30)], (640, 480), ""),
    "one beyond the edge": ([(3, 4, 30, 40)] * 4 + [(3, 4, 90, 40)], (64, 48), ""),
    "beyond 100": ([(3.5, 4.5, 30.5, 400.5), (5.5, 6.5, 90.5, 95.5), (1.5, 2.5, 99.5, 98.5)], (640, 480), ""),
    "a header that says pixels": (PERCENT, (640, 480), "filename,xmin,ymin,xmax,ymax,class\n"),
}  # fmt: skip


@pytest.mark.parametrize("kind", PIXELS)
def test_pixels_stay_pixels(tmp_path: Path, kind: str) -> None:
    lines, size, header = PIXELS[kind]
    table(tmp_path, lines, size, header)
    assert corners(tmp_path) == lines and "percent-by-evidence" not in findings(tmp_path)


def test_what_cannot_be_told_is_said(tmp_path: Path) -> None:
    table(tmp_path, [(10, 20, 60, 80)], (640, 480))
    assert corners(tmp_path) == [(10, 20, 60, 80)]
    found = findings(tmp_path)["unclear-coordinates"]
    assert found.places[0].detail == "all numbers are within 0 and 100, and an image is 640x480"


def test_a_corner_and_a_size_without_a_header(tmp_path: Path) -> None:
    lines: Lines = [(300, 200, 50, 40), (400, 300, 100, 60), (10, 20, 300, 200), (500, 100, 60, 300)]
    table(tmp_path, lines, (640, 480))
    assert corners(tmp_path) == [(x, y, x + w, y + h) for x, y, w, h in lines]
    assert "a corner and a size" in findings(tmp_path)["unusual-column-order"].places[0].detail
