"""Formats whose files list all images: CVAT, Label Studio, VIA, Datumaro, Parquet; and Open Images.

The samples have the structure that each tool's own exporter writes (CVAT 1.1 by Datumaro, Label Studio 1.x, VIA 1 to 3,
Datumaro 1.x, `datasets` 5).
"""

# ruff: noqa: E501  one sample a line: broken over several, they cannot be compared with an export

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from holdfast.cli.main import main
from holdfast.data.checking.dataset_check import DatasetPart, check
from holdfast.data.files.tfrecord_framing import framed
from holdfast.data.formats import FORMATS
from holdfast.data.formats.tf_example import serialize_example
from holdfast.data.reading.load import read
from holdfast.data.writing.convert import convert
from holdfast.errors import HoldfastError

from .test_strange_sets import BOX, put

Found = dict[str, list[tuple[Any, ...]]]


def boxes(path: Path, *, strict: bool = True) -> Found:
    """Every image's boxes by the name of its file; rounded, as fractions are."""
    return {
        record.image.path.rsplit("/", 1)[-1]: [
            (box.name, *(round(value, 3) for value in box.corners)) for box in record.boxes
        ]
        for record in read(str(path), strict=strict).records
    }


def findings(path: Path) -> dict[str, Any]:
    report, _ = check([DatasetPart(str(path))], use_cache=False, processes=1)
    return {finding.slug: finding for finding in report.findings}


# -- CVAT -----------------------------------------------------------------------------------------

CVAT = """<?xml version="1.0" encoding="utf-8"?>
<annotations>
  <version>1.1</version>
  <meta><task><id>7</id><name>t</name><size>3</size><mode>annotation</mode>
    <labels><label><name>cell</name><color>#ff0000</color><type>any</type><attributes></attributes></label></labels>
  </task><dumped>2024-05-01 10:00:00.000000+00:00</dumped></meta>
  <image id="0" name="a.jpg" width="64" height="48">%s</image>
  <image id="1" name="sub/b.jpg" subset="Train" task_id="7" width="64" height="48"></image>
</annotations>
"""
CVAT_SHAPES = {
    '<box label="cell" source="manual" occluded="0" xtl="16.00" ytl="12.00" xbr="48.00" ybr="36.00" z_order="0"></box>': BOX,
    '<box label="cell" occluded="0" xtl="20.00" ytl="8.00" xbr="44.00" ybr="40.00" rotation="90.0" z_order="0"><attribute name="x">1</attribute></box>': BOX,
    '<polygon label="cell" source="manual" occluded="0" points="16.00,12.00;48.00,20.00;30.00,36.00" z_order="0"></polygon>': BOX,
    '<polyline label="cell" points="16.00,36.00;48.00,12.00"></polyline>': BOX,
    '<ellipse label="cell" cx="32.00" cy="24.00" rx="16.00" ry="12.00"></ellipse>': BOX,
    '<mask label="cell" occluded="0" rle="70, 32, 2, 32, 2, 32, 714" left="14" top="10" width="34" height="26"></mask>': (16.0, 12.0, 48.0, 15.0),
    '<cuboid label="cell" xtl1="16" ytl1="14" xbl1="16" ybl1="36" xtr1="40" ytr1="14" xbr1="40" ybr1="36" xtl2="20" ytl2="12" xbl2="20" ybl2="30" xtr2="48" ytr2="12" xbr2="48" ybr2="30"></cuboid>': BOX,
}  # fmt: skip


@pytest.mark.parametrize("shape", CVAT_SHAPES, ids=lambda text: text[1:8])
def test_cvat_images(tmp_path: Path, shape: str) -> None:
    put(tmp_path, **{"images/a.jpg": b"image", "images/sub/b.jpg": b"image", "annotations.xml": CVAT % shape})
    dataset = read(str(tmp_path))
    assert dataset.format == "cvat"
    expected: Found = {"a.jpg": [("cell", *CVAT_SHAPES[shape])], "b.jpg": []}
    assert boxes(tmp_path) == boxes(tmp_path / "annotations.xml") == expected
    assert [(record.split, record.image.declared_size) for record in dataset.records] == [
        (None, (64, 48)),
        ("Train", (64, 48)),
    ]


def test_cvat_shapes_without_a_box_are_said_and_the_image_is_no_negative(tmp_path: Path) -> None:
    shapes = '<points label="cell" points="5,5"></points><box label="cell" xtl="x" ytl="1" xbr="2" ybr="3"/><tag label="night"></tag>'
    put(tmp_path, **{"a.jpg": b"image", "sub/b.jpg": b"image", "annotations.xml": CVAT % shapes})
    found = findings(tmp_path)
    assert "'cell' is marked by a <points>" in found["shape-without-box"].places[0].detail
    assert "not four numbers" in found["unreadable-annotation"].places[0].detail
    assert boxes(tmp_path, strict=False) == {"b.jpg": []}


CVAT_VIDEO = """<annotations><version>1.1</version>
  <meta><task><id>1</id><size>8</size><mode>interpolation</mode><original_size><width>64</width><height>48</height></original_size></task></meta>
  <track id="0" label="cell" source="manual">
    <box frame="0" keyframe="1" outside="0" occluded="0" xtl="0.00" ytl="0.00" xbr="10.00" ybr="10.00" z_order="0"></box>
    <box frame="4" keyframe="1" outside="0" occluded="0" xtl="8.00" ytl="4.00" xbr="18.00" ybr="14.00" z_order="0"></box>
    <box frame="6" keyframe="1" outside="1" occluded="0" xtl="8.00" ytl="4.00" xbr="18.00" ybr="14.00" z_order="0"></box>
  </track>
  <track id="1" label="dot"><polygon frame="2" keyframe="1" outside="0" points="1,1;9,2;5,7"></polygon></track>
</annotations>
"""


def test_a_video_of_cvat(tmp_path: Path) -> None:
    frames = {f"images/frame_{number:06d}.PNG": b"image" for number in range(8)}
    put(tmp_path, **{"annotations.xml": CVAT_VIDEO}, **frames)
    assert boxes(tmp_path) == {
        "frame_000000.PNG": [("cell", 0, 0, 10, 10)],
        "frame_000001.PNG": [("cell", 2, 1, 12, 11)],
        "frame_000002.PNG": [("cell", 4, 2, 14, 12), ("dot", 1, 1, 9, 7)],
        "frame_000003.PNG": [("cell", 6, 3, 16, 13)],
        "frame_000004.PNG": [("cell", 8, 4, 18, 14)],
        "frame_000005.PNG": [("cell", 8, 4, 18, 14)],
        "frame_000006.PNG": [],
        "frame_000007.PNG": [],
    }


def test_a_video_without_its_frames_names_them(tmp_path: Path) -> None:
    put(tmp_path, **{"annotations.xml": CVAT_VIDEO})
    found = findings(tmp_path)
    assert found["missing-image"].count == 6
    assert "ffmpeg -i VIDEO -start_number 0" in found["video-without-frames"].remedy


# -- Label Studio ---------------------------------------------------------------------------------


def result(kind: str, value: dict[str, Any], label: str = "cell", **more: Any) -> dict[str, Any]:
    size = {"original_width": 64, "original_height": 48, "image_rotation": 0}
    return {"id": "r", "type": kind, "from_name": "l", "to_name": "image", "origin": "manual", **size,
            "value": {**value, kind: [label]}, **more}  # fmt: skip


def task(*results: Any, image: str = "/data/upload/1/0a1b2c3d-a.jpg", **annotation: Any) -> dict[str, Any]:
    return {"id": 1, "data": {"image": image}, "predictions": [],
            "annotations": [{"id": 1, "was_cancelled": False, "ground_truth": False, "result": list(results), **annotation}]}  # fmt: skip


RECTANGLE = result("rectanglelabels", {"x": 25, "y": 25, "width": 50, "height": 50, "rotation": 0})
LABEL_STUDIO: dict[str, Any] = {
    "a rectangle": RECTANGLE,
    "a polygon": result("polygonlabels", {"points": [[25, 25], [75, 50], [40, 75]], "closed": True}),
    "an ellipse": result("ellipselabels", {"x": 50, "y": 50, "radiusX": 25, "radiusY": 25, "rotation": 0}),
    # 24 px wide and 32 px high, turned a quarter clockwise about its first corner
    "a turned rectangle": result("rectanglelabels", {"x": 75, "y": 25, "width": 37.5, "height": 200 / 3, "rotation": 90}),
}  # fmt: skip


@pytest.mark.parametrize("kind", LABEL_STUDIO)
@pytest.mark.parametrize("name", ["0a1b2c3d-a.jpg", "images/a.jpg"])
def test_label_studio(tmp_path: Path, kind: str, name: str) -> None:
    put(tmp_path, **{name: b"image", "p.json": json.dumps([task(LABEL_STUDIO[kind])])})
    assert read(str(tmp_path)).format == "label-studio"
    expected = {name.rsplit("/", 1)[-1]: [("cell", *BOX)]}
    assert boxes(tmp_path) == boxes(tmp_path / "p.json") == expected


@pytest.mark.parametrize(
    "address",
    ["s3://bucket/set/a.jpg", "https://h.example/x/a.jpg?sig=1", "/data/local-files/?d=images/a.jpg", "a.jpg",
     "/data/upload/12/0a1b2c3d-a.jpg"],
)  # fmt: skip
def test_addresses_of_label_studio(tmp_path: Path, address: str) -> None:
    put(tmp_path, **{"images/a.jpg": b"image", "p.json": json.dumps([task(RECTANGLE, image=address)])})
    assert boxes(tmp_path) == {"a.jpg": [("cell", *BOX)]}


def test_label_studio_in_its_shorter_form(tmp_path: Path) -> None:
    shape = {"x": 25, "y": 25, "width": 50, "height": 50, "rotation": 0, "rectanglelabels": ["cell"],
             "original_width": 64, "original_height": 48}  # fmt: skip
    row = {"image": "/data/upload/1/a.jpg", "id": 1, "label": [shape], "annotator": 1, "annotation_id": 1}
    put(tmp_path, **{"a.jpg": b"image", "min.json": json.dumps([row])})
    assert boxes(tmp_path) == {"a.jpg": [("cell", *BOX)]}


def test_a_shape_and_its_label_may_be_two_results(tmp_path: Path) -> None:
    shape = {**RECTANGLE, "type": "rectangle", "value": {"x": 25, "y": 25, "width": 50, "height": 50}}
    label = {
        "id": "r",
        "type": "labels",
        "value": {"x": 25, "y": 25, "width": 50, "height": 50, "labels": ["cell"]},
    }
    put(tmp_path, **{"a.jpg": b"image", "p.json": json.dumps([task(shape, label)])})
    assert boxes(tmp_path) == {"a.jpg": [("cell", *BOX)]}


def test_tasks_of_label_studio_without_annotation_are_no_negatives(tmp_path: Path) -> None:
    tasks = [
        task(RECTANGLE),
        task(image="b.jpg"),  # submitted with nothing in it
        {**task(image="c.jpg"), "annotations": []},
        task(RECTANGLE, image="d.jpg", was_cancelled=True),
    ]
    put(tmp_path, **{f"{name}.jpg": b"image" for name in "abcd"}, **{"p.json": json.dumps(tasks)})
    assert boxes(tmp_path) == {"a.jpg": [("cell", *BOX)], "b.jpg": []}
    assert findings(tmp_path)["task-without-annotation"].count == 2


def test_the_ground_truth_of_several_annotators_counts(tmp_path: Path) -> None:
    other = result("rectanglelabels", {"x": 0, "y": 0, "width": 10, "height": 10}, "wrong")
    both = task(RECTANGLE, ground_truth=True, updated_at="2024-01-01")
    both["annotations"] += [{"result": [other], "updated_at": "2024-02-02"}]
    put(tmp_path, **{"a.jpg": b"image", "p.json": json.dumps([both])})
    assert boxes(tmp_path) == {"a.jpg": [("cell", *BOX)]}
    assert findings(tmp_path)["several-annotators"].count == 1


def test_drawings_of_label_studio_that_are_no_boxes(tmp_path: Path) -> None:
    brush = result("brushlabels", {"format": "rle", "rle": [0, 1]})
    put(
        tmp_path,
        **{
            "a.jpg": b"image",
            "p.json": json.dumps([task(brush), task(RECTANGLE, image="b.jpg")]),
            "b.jpg": b"image",
        },
    )
    assert "'brush'" in findings(tmp_path)["shape-without-box"].places[0].detail
    assert boxes(tmp_path) == {"b.jpg": [("cell", *BOX)]}


# -- VIA ------------------------------------------------------------------------------------------


def via(shape: dict[str, Any], attributes: Any, *, version: int = 2) -> dict[str, Any]:
    region = {"shape_attributes": shape, "region_attributes": attributes}
    regions: Any = [region] if version == 2 else {"0": region}
    return {"a.jpg123": {"filename": "a.jpg", "size": 123, "regions": regions, "file_attributes": {}},
            "b.jpg5": {"filename": "b.jpg", "size": 5, "regions": [] if version == 2 else {}, "file_attributes": {}}}  # fmt: skip


RECT = {"name": "rect", "x": 16, "y": 12, "width": 32, "height": 24}
VIA: dict[str, Any] = {
    "an export": via(RECT, {"class": "cell"}),
    "version 1": via(RECT, {"class": "cell"}, version=1),
    "a project": {"_via_settings": {}, "_via_img_metadata": via(RECT, {"note": "x", "Class": "cell"}), "_via_attributes": {}},
    "ticked boxes": via(RECT, {"kind": {"cell": True, "other": False}}),
    "a polygon": via({"name": "polygon", "all_points_x": [16, 48, 30], "all_points_y": [12, 20, 36]}, {"label": "cell"}),
    "an ellipse": via({"name": "ellipse", "cx": 32, "cy": 24, "rx": 12, "ry": 16, "theta": math.pi / 2}, {"label": "cell"}),
    "version 3": {
        "project": {"pid": "__VIA_PROJECT_ID__", "data_format_version": "3.1.1", "vid_list": ["1", "2"]},
        "attribute": {"1": {"aname": "kind", "anchor_id": "FILE1_Z0_XY1", "type": 4, "options": {"0": "cell", "1": "other"}}},
        "file": {"1": {"fid": 1, "fname": "a.jpg", "type": 2, "src": "a.jpg"}, "2": {"fid": 2, "fname": "b.jpg", "src": "b.jpg"}},
        "metadata": {"1_x": {"vid": "1", "flg": 0, "z": [], "xy": [2, 16, 12, 32, 24], "av": {"1": "0"}}},
        "view": {"1": {"fid_list": [1]}, "2": {"fid_list": [2]}},
    },
}  # fmt: skip


@pytest.mark.parametrize("kind", VIA)
def test_via(tmp_path: Path, kind: str) -> None:
    put(tmp_path, **{"a.jpg": b"image", "b.jpg": b"image", "via.json": json.dumps(VIA[kind])})
    assert read(str(tmp_path)).format == "via"
    assert boxes(tmp_path) == boxes(tmp_path / "via.json") == {"a.jpg": [("cell", *BOX)], "b.jpg": []}


def test_regions_of_via_that_are_no_list_are_said(tmp_path: Path) -> None:
    document = via(RECT, {"class": "cell"})
    next(iter(document.values()))["regions"] = 1.5
    put(tmp_path, **{"a.jpg": b"image", "b.jpg": b"image", "via.json": json.dumps(document)})
    (place,) = findings(tmp_path)["unreadable-annotation"].places
    assert "its regions are '1.5', which is no list" in place.detail


def test_a_circle_of_via(tmp_path: Path) -> None:
    put(tmp_path, **{"a.jpg": b"image", "b.jpg": b"image",
                     "via.json": json.dumps(via({"name": "circle", "cx": 30, "cy": 20, "r": 9.5}, {"c": "x"}))})  # fmt: skip
    assert boxes(tmp_path)["a.jpg"] == [("x", 20.5, 10.5, 39.5, 29.5)]


def test_regions_of_via_without_class_or_box_are_said(tmp_path: Path) -> None:
    put(tmp_path, **{"a.jpg": b"image", "b.jpg": b"image", "via.json": json.dumps(via(RECT, {}))})
    assert boxes(tmp_path)["a.jpg"] == [("object", *BOX)]
    assert "class-column-unknown" in findings(tmp_path)
    put(tmp_path, **{"via.json": json.dumps(via({"name": "point", "cx": 1, "cy": 2}, {"c": "x"}))})
    assert findings(tmp_path)["shape-without-box"].count == 1
    assert boxes(tmp_path) == {"b.jpg": []}


def test_the_table_of_via(tmp_path: Path) -> None:
    rows = [
        "filename,file_size,file_attributes,region_count,region_id,region_shape_attributes,region_attributes",
        'a.jpg,123,"{}",1,0,"{""name"":""rect"",""x"":16,""y"":12,""width"":32,""height"":24}","{""class"":""cell""}"',
        'b.jpg,5,"{}",0,0,"{}","{}"',
    ]
    put(tmp_path, **{"a.jpg": b"image", "b.jpg": b"image", "via.csv": "\n".join(rows) + "\n"})
    assert boxes(tmp_path) == {"a.jpg": [("cell", *BOX)], "b.jpg": []}


# -- Datumaro -------------------------------------------------------------------------------------


def datumaro(*annotations: dict[str, Any], media: str = "image") -> str:
    labels = [{"name": name, "parent": "", "attributes": []} for name in ("cell", "dot")]
    items = [
        {"id": "a", "annotations": list(annotations), media: {"path": "a.jpg", "size": [48, 64]}},
        {"id": "sub/b", "annotations": [], media: {"path": "sub_b.jpg", "size": [48, 64]}},
    ]
    categories = {"label": {"labels": labels, "label_groups": [], "attributes": []}}
    return json.dumps(
        {"dm_format_version": "1.0", "media_type": 2, "infos": {}, "categories": categories, "items": items}
    )


def shape(kind: str, label: int = 0, **more: Any) -> dict[str, Any]:
    return {"id": 0, "type": kind, "attributes": {}, "group": 0, "label_id": label, "z_order": 0, **more}


DATUMARO = {
    "bbox": shape("bbox", bbox=[16.0, 12.0, 32.0, 24.0]),
    "polygon": shape("polygon", points=[16.0, 12.0, 48.0, 20.0, 30.0, 36.0]),
    "mask": shape("mask", rle={"counts": [16 * 48 + 12, *([24, 24] * 31), 24], "size": [48, 64]}),
    "rotated_bbox": shape("rotated_bbox", cx=32, cy=24, w=24, h=32, r=90),
    "ellipse": shape("ellipse", points=[16.0, 12.0, 48.0, 36.0]),
}


@pytest.mark.parametrize("kind", DATUMARO)
@pytest.mark.parametrize("media", ["image", "media"])
def test_datumaro(tmp_path: Path, kind: str, media: str) -> None:
    files = {"images/train/a.jpg": b"image", "images/train/sub_b.jpg": b"image"}
    put(tmp_path, **files, **{"annotations/train.json": datumaro(DATUMARO[kind], media=media)})
    dataset = read(str(tmp_path))
    assert (dataset.format, dataset.splits) == ("datumaro", ("train",))
    assert [(record.id, len(record.boxes)) for record in dataset.records] == [("a", 1), ("sub/b", 0)]
    expected: Found = {"a.jpg": [("cell", *BOX)], "sub_b.jpg": []}
    assert boxes(tmp_path) == boxes(tmp_path / "annotations" / "train.json") == expected
    assert dict(zip(dataset.classes, dataset.class_ids, strict=True))["cell"] == 0


def test_datumaro_with_what_is_no_box(tmp_path: Path) -> None:
    odd = [shape("points", points=[1, 2]), shape("bbox", 7, bbox=[1, 2, 3, 4]), shape("bbox", bbox=[1, 2])]
    put(tmp_path, **{"a.jpg": b"image", "sub_b.jpg": b"image", "annotations/default.json": datumaro(*odd)})
    found = findings(tmp_path)
    assert {
        slug: found[slug].count for slug in ("shape-without-box", "unknown-class", "unreadable-annotation")
    } == {
        "shape-without-box": 1,
        "unknown-class": 1,
        "unreadable-annotation": 1,
    }
    assert {record.split for record in read(str(tmp_path), strict=False).records} == {None}


# -- Open Images ----------------------------------------------------------------------------------

HEADER = "ImageID,Source,LabelName,Confidence,XMin,XMax,YMin,YMax,IsOccluded,IsTruncated,IsGroupOf,IsDepiction,IsInside"
ROWS = [
    "0001eeaf4aed83f9,xclick,/m/0cmf2,1,0.25,0.75,0.25,0.75,0,0,0,0,0",
    "0001eeaf4aed83f9,xclick,/m/01yrx,1,0,0.5,0,0.5,0,0,1,0,0",
    "000595fe6fee6369,activemil,/m/0cmf2,1,0.1,0.2,0.1,0.2,0,0,0,0,0",
    "00075905539074f2,xclick,/m/0cmf2,1,0.1,0.2,0.1,0.2,0,0,0,0,0",
]
NAMES = "/m/0cmf2,Airplane\n/m/01yrx,Cat\n"


def test_open_images_with_a_part_of_its_images(tmp_path: Path) -> None:
    table = "\n".join([HEADER, *ROWS]) + "\n"
    put(tmp_path, **{"train/0001eeaf4aed83f9.jpg": b"image", "oidv6-train-annotations-bbox.csv": table,
                     "class-descriptions-boxable.csv": NAMES})  # fmt: skip
    dataset = read(str(tmp_path))
    assert (dataset.format, dataset.splits, dataset.classes) == (
        "open-images",
        ("train",),
        ("Airplane", "Cat"),
    )
    (record,) = dataset.records
    assert [(box.name, box.corners, box.crowd) for box in record.boxes] == [
        ("Airplane", BOX, False),
        ("Cat", (0.0, 0.0, 32.0, 24.0), True),
    ]
    found = findings(tmp_path)
    assert "missing-image" not in found
    assert "unusual-column-order" not in found, "it is the usual one there"
    assert (found["images-not-downloaded"].severity, found["images-not-downloaded"].count) == ("note", 2)
    assert boxes(tmp_path / "oidv6-train-annotations-bbox.csv") == {"0001eeaf4aed83f9.jpg": [
        ("Airplane", *BOX), ("Cat", 0, 0, 32, 24)]}  # fmt: skip


@pytest.mark.parametrize("between", [";", "\t", ","])
def test_open_images_with_decimal_commas(tmp_path: Path, between: str) -> None:
    def written(field: str) -> str:
        with_comma = field.replace(".", ",")
        return f'"{with_comma}"' if between == "," and "," in with_comma else with_comma

    rows = [between.join(map(written, row.split(","))) for row in ROWS[:2]]
    table = "\n".join([HEADER.replace(",", between), *rows]) + "\n"
    put(tmp_path, **{"0001eeaf4aed83f9.jpg": b"image", "boxes.csv": table})
    assert boxes(tmp_path) == {"0001eeaf4aed83f9.jpg": [("/m/0cmf2", *BOX), ("/m/01yrx", 0, 0, 32, 24)]}


def test_open_images_without_any_image_is_an_error(tmp_path: Path) -> None:
    put(tmp_path, **{"boxes.csv": "\n".join([HEADER, *ROWS]) + "\n"})
    assert findings(tmp_path)["missing-image"].count == 3


# -- Parquet --------------------------------------------------------------------------------------


def parquet(path: Path, columns: dict[str, Any], features: Any = None, *, group: int = 2) -> None:
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet as writer

    table = arrow.table(columns)
    if features is not None:
        table = table.replace_schema_metadata({"huggingface": json.dumps({"info": {"features": features}})})
    path.parent.mkdir(parents=True, exist_ok=True)
    writer.write_table(table, path, row_group_size=group)


def cells(count: int) -> list[dict[str, Any]]:
    from . import made

    return [{"bytes": made.image(seed=number + 1), "path": f"{number}.jpg"} for number in range(count)]


CLASS = {"feature": {"names": ["cell", "dot"], "_type": "ClassLabel"}, "_type": "Sequence"}


def test_parquet_as_on_the_hub(tmp_path: Path) -> None:
    objects = [{"bbox": [[16.0, 12.0, 32.0, 24.0]], "category": [0]}, {"bbox": [], "category": []},
               {"bbox": [[0.0, 0.0, 8.0, 4.0], [1.0, 2.0, 3.0, 4.0]], "category": [1, 0]}]  # fmt: skip
    features = {"image": {"_type": "Image"}, "objects": {"bbox": {}, "category": CLASS}}
    parquet(
        tmp_path / "data" / "train-00000-of-00001.parquet",
        {"image_id": [5, 6, 7], "image": cells(3), "objects": objects},
        features,
    )
    dataset = read(str(tmp_path))
    assert (dataset.format, dataset.classes, dataset.class_ids, dataset.splits) == (
        "parquet",
        ("cell", "dot"),
        (0, 1),
        ("train",),
    )
    assert [(record.id, record.file_name, [(box.name, box.corners) for box in record.boxes]) for record in dataset.records] == [
        ("5", "0.jpg", [("cell", BOX)]),
        ("6", "1.jpg", []),
        ("7", "2.jpg", [("dot", (0, 0, 8, 4)), ("cell", (1, 2, 4, 6))]),
    ]  # fmt: skip
    assert [record.image.read() for record in dataset.records] == [cell["bytes"] for cell in cells(3)]
    assert set(findings(tmp_path)) <= {"image-without-boxes", "rare-class", "tiny-box", "class-imbalance"}


@pytest.mark.parametrize(
    "form", ["a list of structs", "columns of their own", "corners by name", "fractions"]
)
def test_other_layouts_of_parquet(tmp_path: Path, form: str) -> None:
    corners = [[16.0, 12.0, 48.0, 36.0], [30.0, 20.0, 60.0, 40.0]]
    labels = ["cell", "dot"]
    columns: dict[str, Any] = {
        "a list of structs": {"objects": [[{"bbox": box, "label": name} for box, name in zip(corners, labels, strict=True)]]},
        "columns of their own": {"bboxes": [corners], "labels": [labels]},
        "corners by name": {"objects": [{key: [box[at] for box in corners] for at, key in enumerate(("xmin", "ymin", "xmax", "ymax"))} | {"category": labels}]},
        "fractions": {"objects": [{"bbox": [[x1 / 64, y1 / 48, (x2 - x1) / 64, (y2 - y1) / 48] for x1, y1, x2, y2 in corners], "category": labels}]},
    }[form]  # fmt: skip
    parquet(tmp_path / "train.parquet", {"image": cells(1), **columns})
    (record,) = read(str(tmp_path)).records
    found = [(box.name, *(round(value, 3) for value in box.corners)) for box in record.boxes]
    assert found == [("cell", *BOX), ("dot", 30.0, 20.0, 60.0, 40.0)]


def test_parquet_is_converted_to_files(tmp_path: Path) -> None:
    objects = [{"bbox": [[16.0, 12.0, 32.0, 24.0]], "category": ["cell"]}, {"bbox": [], "category": []}]
    parquet(tmp_path / "p" / "train.parquet", {"image": cells(2), "objects": objects})
    convert(str(tmp_path / "p"), str(tmp_path / "coco"), "coco")
    assert boxes(tmp_path / "coco") == {"0.jpg": [("cell", *BOX)], "1.jpg": []}
    assert sorted(path.read_bytes() for path in (tmp_path / "coco").rglob("*.jpg")) == sorted(
        cell["bytes"] for cell in cells(2)
    )


def test_parquet_that_is_none_or_has_no_boxes(tmp_path: Path) -> None:
    put(tmp_path, **{"x.parquet": "version https://git-lfs.github.com/spec/v1\n"})
    with pytest.raises(HoldfastError, match="not a Parquet file") as caught:
        read(str(tmp_path))
    assert "Git LFS pointer" in caught.value.change[0]
    parquet(tmp_path / "x.parquet", {"image": cells(1), "label": [3]})
    with pytest.raises(HoldfastError, match="no images with boxes") as caught:
        read(str(tmp_path))
    assert caught.value.found == ("its columns are image, label",)


@pytest.mark.parametrize(
    "objects",
    [[[None, {"bbox": None, "label": None}]], [[{"bbox": [1.0, 2.0], "label": "x"}]], [{"bbox": None, "label": None}],
     [{"bbox": 5, "label": "x"}], [{"xmin": [None], "ymin": [1.0], "xmax": [2.0], "ymax": [3.0]}],
     [{"xmin": ["a"], "ymin": ["b"], "xmax": ["c"], "ymax": ["d"]}], [{"xmin": 1, "ymin": 1, "xmax": 2, "ymax": 3}]],
    ids=str,
)  # fmt: skip
def test_rows_of_parquet_that_hold_other_things(tmp_path: Path, objects: Any) -> None:
    parquet(tmp_path / "train.parquet", {"image": cells(1), "objects": objects})
    assert [box for found in boxes(tmp_path, strict=False).values() for box in found] == []


@pytest.mark.parametrize(
    "features", [[], "x", {"objects": None}, {"objects": {"label": {"names": 5}}}], ids=str
)
def test_a_schema_of_parquet_that_says_other_things(tmp_path: Path, features: Any) -> None:
    objects = [{"bbox": [[16.0, 12.0, 32.0, 24.0]], "label": ["cell"]}]
    parquet(tmp_path / "train.parquet", {"image": cells(1), "objects": objects}, features)
    assert list(boxes(tmp_path).values()) == [[("cell", *BOX)]]


def test_tables_of_parquet_that_unpack_without_end(tmp_path: Path) -> None:
    """A column of zeros, and rows that are not there; a value of a dictionary is unpacked for few rows at once."""
    arrow = pytest.importorskip("pyarrow")
    numpy = pytest.importorskip("numpy")
    zeros = arrow.ListArray.from_arrays(
        arrow.array([0, 8_000_000], arrow.int32()), arrow.array(numpy.zeros(8_000_000))
    )
    parquet(tmp_path / "a" / "train.parquet", {"image": cells(1), "bbox": zeros, "label": ["x"]})
    nothing = arrow.nulls(3_000_000, arrow.struct([("path", arrow.string())]))
    boxes_of = arrow.nulls(3_000_000, arrow.list_(arrow.float64()))
    parquet(tmp_path / "b" / "train.parquet", {"image": nothing, "bbox": boxes_of}, group=3_000_000)
    for name in ("a", "b"):
        with pytest.raises(HoldfastError, match="as no dataset does"):
            read(str(tmp_path / name))
    one = arrow.DictionaryArray.from_arrays(
        arrow.array([0] * 40, arrow.int32()), arrow.array(["x" * 20_000_000])
    )
    objects = [{"bbox": [[1.0, 2.0, 3.0, 4.0]], "category": [0]}] * 40
    parquet(
        tmp_path / "c" / "train.parquet", {"image": cells(40), "objects": objects, "image_id": one}, group=40
    )
    assert max(len(record.id) for record in read(str(tmp_path / "c"), strict=False).records) < 5000


def test_pages_of_parquet_that_are_damaged(tmp_path: Path) -> None:
    objects = [{"bbox": [[16.0, 12.0, 32.0, 24.0]], "label": ["cell"]}] * 40
    parquet(tmp_path / "train.parquet", {"objects": objects, "image": cells(40)})
    content = (tmp_path / "train.parquet").read_bytes()
    for at in range(4, 400, 5):
        (tmp_path / "train.parquet").write_bytes(content[:at] + b"\xff" * 4 + content[at + 4 :])
        try:
            boxes(tmp_path, strict=False)
        except HoldfastError as error:
            assert error.where.endswith("train.parquet")


# -- TFRecords without image bytes ----------------------------------------------------------------


def records(path: Path, names: list[str], **more: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    sides = {"xmin": 0.25, "xmax": 0.75, "ymin": 0.25, "ymax": 0.75}
    examples = [
        serialize_example(
            {"image/filename": [name.encode()], "image/width": [64], "image/height": [48],
             "image/object/class/text": [b"cell"],
             **{f"image/object/bbox/{side}": [value] for side, value in sides.items()}, **more}
        )
        for name in names
    ]  # fmt: skip
    path.write_bytes(b"".join(framed(example) for example in examples))


@pytest.mark.parametrize(
    ("shard", "images", "given"),
    [("train.record", "", ""), ("train.record", "images/", ""), ("annotations/train.record", "images/", ""),
     ("annotations/train.record", "images/", "annotations"), ("train.record", "images/", "train.record"),
     ("annotations/train.record", "images/", "annotations/train.record"), ("train.record", "images/", "*.record")],
)  # fmt: skip
def test_records_whose_images_lie_beside_them(tmp_path: Path, shard: str, images: str, given: str) -> None:
    put(tmp_path, **{f"{images}a.jpg": b"image", f"{images}b.jpg": b"image"})
    records(tmp_path / shard, ["a.jpg", "b.jpg"])
    assert boxes(tmp_path / given) == {"a.jpg": [("cell", *BOX)], "b.jpg": [("cell", *BOX)]}


def test_images_of_another_dataset_are_not_those_of_the_records(tmp_path: Path) -> None:
    put(tmp_path, **{"other/a.jpg": b"image", "other/a.xml": b""})
    records(tmp_path / "mine/train.record", ["a.jpg"])
    assert findings(tmp_path / "mine")["missing-image"].places[0].file == str(tmp_path / "mine/a.jpg")


def test_records_that_name_images_which_are_not_there(tmp_path: Path) -> None:
    put(tmp_path, **{"images/a.jpg": b"image"})
    records(tmp_path / "train.record", ["a.jpg", "gone.jpg"])
    missing = findings(tmp_path)["missing-image"]
    assert (missing.count, missing.places[0].file) == (1, str(tmp_path / "gone.jpg"))


def test_records_that_name_nothing_are_still_refused(tmp_path: Path) -> None:
    records(tmp_path / "train.record", [""])
    assert (
        "it has no image/encoded; it has image/"
        in findings(tmp_path)["unreadable-annotation"].places[0].detail
    )


def test_what_is_no_box_is_named_when_it_is_converted(tmp_path: Path) -> None:
    xml = CVAT % '<points label="cell" points="1,2"/>'
    put(tmp_path / "src", **{"a.jpg": b"image", "sub/b.jpg": b"image", "annotations.xml": xml})
    done = convert(str(tmp_path / "src"), str(tmp_path / "out"), "coco")
    assert [(one.slug, one.count) for one in done.findings] == [("shape-without-box", 1)]


def test_records_without_bytes_convert(tmp_path: Path) -> None:
    put(tmp_path / "src", **{"images/a.jpg": b"image"})
    records(tmp_path / "src" / "train.record", ["a.jpg"])
    convert(str(tmp_path / "src"), str(tmp_path / "out"), "tfrecord")
    (record,) = read(str(tmp_path / "out")).records
    assert record.image.in_shard and record.image.read() == (tmp_path / "src/images/a.jpg").read_bytes()


# -- all of them ----------------------------------------------------------------------------------

ALL: dict[str, dict[str, str | bytes]] = {
    "cvat": {"a.jpg": b"image", "sub/b.jpg": b"image", "annotations.xml": CVAT % next(iter(CVAT_SHAPES))},
    "label-studio": {"a.jpg": b"image", "p.json": json.dumps([task(RECTANGLE)])},
    "via": {"a.jpg": b"image", "b.jpg": b"image", "via.json": json.dumps(VIA["a project"])},
    "datumaro": {"images/train/a.jpg": b"image", "images/train/sub_b.jpg": b"image",
                 "annotations/train.json": datumaro(DATUMARO["bbox"])},
    "open-images": {"0001eeaf4aed83f9.jpg": b"image", "b.csv": "\n".join([HEADER, ROWS[0]]) + "\n"},
}  # fmt: skip


@pytest.mark.parametrize("format", ALL)
@pytest.mark.parametrize("to", ["coco", "voc", "yolo", "tfrecord"])
def test_they_convert_to_what_is_written(tmp_path: Path, format: str, to: str) -> None:
    put(tmp_path / "src", **ALL[format])
    name = "/m/0cmf2" if format == "open-images" else "cell"
    convert(str(tmp_path / "src"), str(tmp_path / to), to)
    written = [box for record in read(str(tmp_path / to)).records for box in record.boxes]
    assert [(box.name, *(round(value, 2) for value in box.corners)) for box in written] == [(name, *BOX)]


@pytest.mark.parametrize("format", ALL)
def test_check_names_them_and_the_option_takes_them(
    tmp_path: Path, format: str, capsys: pytest.CaptureFixture[str]
) -> None:
    put(tmp_path, **ALL[format])
    assert format in FORMATS
    assert main(["check", str(tmp_path), "--json", "--format", format]) in (0, 1)
    report = json.loads(capsys.readouterr().out)
    assert report["boxes"] == 1 and "unreadable-annotation" not in {
        one["finding"] for one in report["findings"]
    }


@pytest.mark.parametrize("format", ["cvat", "label-studio", "via", "datumaro"])
def test_a_file_that_is_cut_short_is_an_error_that_names_it(tmp_path: Path, format: str) -> None:
    put(tmp_path, **ALL[format])
    (file,) = [path for path in tmp_path.rglob("*") if path.suffix in (".xml", ".json")]
    file.write_text(file.read_text()[:-30])
    with pytest.raises(HoldfastError, match=r"not JSON|not XML") as caught:
        read(str(tmp_path))
    assert caught.value.where == str(file)
