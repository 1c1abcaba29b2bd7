"""Supervisely's projects: boxes of each kind of object, classes, splits and what is wrong with a file."""

from __future__ import annotations

import base64
import io
import json
import zlib
from pathlib import Path
from typing import Any

from PIL import Image

from holdfast.data.checking.dataset_check import DatasetPart, check
from holdfast.data.reading.load import read
from tests.data import made


def thing(title: str, corners: list[list[float]], kind: str = "rectangle", **more: Any) -> dict[str, Any]:
    return {
        "classTitle": title,
        "geometryType": kind,
        "points": {"exterior": corners, "interior": []},
        **more,
    }


def bitmap(title: str, origin: list[int], size: tuple[int, int]) -> dict[str, Any]:
    out = io.BytesIO()
    Image.new("1", size, 1).save(out, "PNG")
    data = base64.b64encode(zlib.compress(out.getvalue())).decode()
    return {"classTitle": title, "geometryType": "bitmap", "bitmap": {"data": data, "origin": origin}}


def project(folder: Path, images: dict[str, list[dict[str, Any]]]) -> Path:
    """Images by `dataset/name`, each with its objects."""
    classes = [{"title": "cat", "id": 7, "shape": "rectangle"}, {"title": "dog", "id": 9, "shape": "any"}]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "meta.json").write_text(json.dumps({"classes": classes, "tags": [], "projectType": "images"}))
    for number, (name, objects) in enumerate(images.items()):
        dataset, file = name.split("/")
        for kind in ("img", "ann"):
            (folder / dataset / kind).mkdir(parents=True, exist_ok=True)
        (folder / dataset / "img" / file).write_bytes(made.image(seed=number))
        document = {"size": {"width": 64, "height": 48}, "tags": [], "objects": objects}
        (folder / dataset / "ann" / f"{file}.json").write_text(json.dumps(document))
    return folder


def test_boxes_of_each_kind(tmp_path: Path) -> None:
    outline = [[3.5, 4], [20, 30.25], [10, 41]]
    objects = [
        thing("cat", [[2, 3], [61, 45]]),
        thing("dog", [[61, 45], [2, 3]]),  # drawn from the other corner
        thing("dog", outline, "polygon"),
        bitmap("cat", [5, 6], (20, 9)),
    ]
    dataset = read(
        str(project(tmp_path, {"train/a.jpg": objects, "val/a.jpg": [], "val/b.jpg": objects[:1]}))
    )
    assert dataset.format == "supervisely"
    assert dict(zip(dataset.classes, dataset.class_ids, strict=True)) == {"cat": 0, "dog": 1}
    found = {
        (one.split, one.file_name): [(box.name, *box.corners) for box in one.boxes] for one in dataset.records
    }
    assert found[("train", "a.jpg")] == [
        ("cat", 2, 3, 62, 46), ("dog", 2, 3, 62, 46), ("dog", 3.5, 4, 20, 41), ("cat", 5, 6, 25, 15)]  # fmt: skip
    assert found[("val", "a.jpg")] == [] and len(found[("val", "b.jpg")]) == 1
    assert [one.image.path.rsplit("/", 3)[-3:] for one in dataset.records] == [
        ["train", "img", "a.jpg"], ["val", "img", "a.jpg"], ["val", "img", "b.jpg"]]  # fmt: skip


def test_what_is_no_box_and_what_cannot_be_read(tmp_path: Path) -> None:
    good = thing("cat", [[2, 3], [61, 45]])
    broken = [
        thing("cat", []),
        {"classTitle": "cat", "bitmap": {"data": "?", "origin": [1, 1]}},
        7,
        {"points": 3},
    ]
    project(tmp_path, {"d/a.jpg": [good, thing("dog", [[5, 5]], "point")], "d/b.jpg": [good, *broken],
                       "d/c.jpg": [good], "d/e.jpg": [good]})  # fmt: skip
    (tmp_path / "d" / "ann" / "c.jpg.json").write_text('{"objects": [')
    (tmp_path / "d" / "img" / "e.jpg").unlink()
    found = made.slugs(check([DatasetPart(str(tmp_path))], use_cache=False)[0])
    wrong = {slug: found[slug] for slug in ("shape-without-box", "unreadable-annotation", "missing-image")}
    assert wrong == {"shape-without-box": 1, "unreadable-annotation": 5, "missing-image": 1}


def test_a_healthy_project_has_nothing_to_say(tmp_path: Path) -> None:
    things = {
        f"train/{n}.jpg": [thing("cat" if n % 2 else "dog", [[4, 5], [30 + n % 9, 40]])] for n in range(24)
    }
    report = check([DatasetPart(str(project(tmp_path, things)))], use_cache=False)[0]
    assert (report.images, report.boxes, report.classes, report.findings) == (24, 24, ("cat", "dog"), ())
