"""A convention is named where all boxes of a split prove it, and never because some boxes are drawn carelessly."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.data.checking.box_conventions import BoxSample
from holdfast.data.checking.dataset_check import DatasetPart, check
from holdfast.data.images.image_file import ImageFacts
from holdfast.data.records import Box, ImageRef, Record
from holdfast.data.writing.repair import repair
from holdfast.errors import DataError

from .. import made

Corners = tuple[float, float, float, float]
WIDTH, HEIGHT = 640, 480
FACTS = ImageFacts(width=WIDTH, height=HEIGHT, format="JPEG", mode="RGB")


def objects(count: int = 200, seed: int = 1, largest: int = 120) -> list[Corners]:
    """Boxes that are right, over the whole image, some of them at its edges."""
    draw = random.Random(seed)
    found = []
    for _ in range(count):
        w, h = draw.randint(20, largest), draw.randint(20, largest)
        x = max(0, min(WIDTH - w, draw.randint(-60, WIDTH)))
        y = max(0, min(HEIGHT - h, draw.randint(-60, HEIGHT)))
        found.append((float(x), float(y), float(x + w), float(y + h)))
    return found


def said(
    boxes: list[Corners],
    format: str,
    *,
    relative: bool = False,
    facts: ImageFacts = FACTS,
    areas: list[float] | None = None,
) -> list[str]:
    sample = BoxSample()
    for at, corners in enumerate(boxes):
        box = Box(*corners, "cat", area=areas[at] if areas else None)
        record = Record(str(at), f"{at}.jpg", ImageRef(f"{at}.jpg"), (box,))
        sample.add(record, facts, relative=relative)
    return [problem.finding for problem in sample.problems(format, "d", relative=relative)[0]]


def middle(c: Corners) -> tuple[float, float]:
    return (c[0] + c[2]) / 2, (c[1] + c[3]) / 2


def centred(c: Corners) -> Corners:  # [cx, cy, w, h], read as a corner and a size
    w, h = c[2] - c[0], c[3] - c[1]
    return (c[0] + w / 2, c[1] + h / 2, c[0] + 1.5 * w, c[1] + 1.5 * h)


def cornered(c: Corners) -> Corners:  # [x, y, w, h], read as a centre and a size
    w, h = c[2] - c[0], c[3] - c[1]
    return (c[0] - w / 2, c[1] - h / 2, c[0] + w / 2, c[1] + h / 2)


def two_corners_as_centre(c: Corners) -> Corners:
    return (c[0] - c[2] / 2, c[1] - c[3] / 2, c[0] + c[2] / 2, c[1] + c[3] / 2)


def wrong_side(c: Corners) -> Corners:
    across, down = WIDTH / HEIGHT, HEIGHT / WIDTH
    return (c[0] * across, c[1] * down, c[2] * across, c[3] * down)


WRONG: list[tuple[str, str, bool, Callable[[Corners], Corners]]] = [
    ("corners-as-size", "coco", False, lambda c: (c[0], c[1], c[0] + c[2], c[1] + c[3])),
    ("size-as-corners", "voc", False, lambda c: (c[0], c[1], c[2] - c[0], c[3] - c[1])),
    ("size-as-corners", "tfrecord", True, lambda c: (c[0], c[1], c[2] - c[0], c[3] - c[1])),
    ("centre-as-corner", "coco", False, centred),
    ("corners-as-size", "coco", False, lambda c: (c[1], c[0], c[1] + c[3], c[0] + c[2])),
    ("centre-as-corners", "csv", False, lambda c: (*middle(c), c[2] - c[0], c[3] - c[1])),
    ("corner-as-centre", "yolo", True, cornered),
    ("corners-as-centre", "yolo", True, two_corners_as_centre),
    ("axes-exchanged", "voc", False, lambda c: (c[1], c[0], c[3], c[2])),
    ("axes-exchanged", "coco", False, lambda c: (c[1], c[0], c[3], c[2])),
    ("sides-exchanged", "yolo", True, wrong_side),
    ("sides-exchanged", "tfrecord", True, wrong_side),
    ("fractions-as-pixels", "voc", False, lambda c: (c[0] / 640, c[1] / 480, c[2] / 640, c[3] / 480)),
    ("boxes-of-another-size", "csv", False, lambda c: (c[0] * 2, c[1] * 2, c[2] * 2, c[3] * 2)),
    ("boxes-of-another-size", "voc", False, lambda c: (c[0] * 1.6, c[1] * 1.2, c[2] * 1.6, c[3] * 1.2)),
]


def off_the_edges(c: Corners) -> Corners:
    """Of an image 1.92 times as wide and 1.44 times as high; no object is at its edges."""
    return (c[0] * 1.8 + 15, c[1] * 1.35 + 11, c[2] * 1.8 + 15, c[3] * 1.35 + 11)


@pytest.mark.parametrize("format", ["voc", "csv", "tfrecord"])
@pytest.mark.parametrize("count", [12, 200])
def test_images_that_were_squeezed_without_their_boxes(format: str, count: int) -> None:
    boxes = [off_the_edges(box) for box in objects(count, largest=240)]
    outside = sum(box[2] > WIDTH or box[3] > HEIGHT for box in boxes)
    assert outside >= 0.6 * count and said(boxes, format) == ["boxes-of-another-size"]


def test_boxes_that_end_a_little_outside_are_not_of_another_size() -> None:
    over = [(c[0], c[1], c[2] + 25, c[3]) if at % 5 == 0 else c for at, c in enumerate(objects(largest=300))]
    assert said(over, "voc") == []


@pytest.mark.parametrize(
    ("slug", "format", "relative", "write"), WRONG, ids=[f"{row[0]}-{row[1]}" for row in WRONG]
)
@pytest.mark.parametrize("seed", range(3))
def test_a_convention_is_named(
    slug: str, format: str, relative: bool, write: Callable[[Corners], Corners], seed: int
) -> None:
    assert said([write(box) for box in objects(seed=seed)], format, relative=relative) == [slug]


@pytest.mark.parametrize("format", ["coco", "voc", "csv", "yolo", "tfrecord", "via"])
def test_right_boxes_are_in_no_other_convention(format: str) -> None:
    relative = format in ("yolo", "tfrecord")
    for seed in range(5):
        assert said(objects(seed=seed), format, relative=relative) == []
        assert said(objects(30, seed=seed, largest=400), format, relative=relative) == []


@pytest.mark.parametrize("format", ["coco", "voc", "csv", "yolo", "tfrecord"])
def test_careless_boxes_are_in_no_other_convention(format: str) -> None:
    """A fifth of the boxes passes an edge, at all four sides."""
    draw = random.Random(5)
    boxes = objects()
    for at in range(0, len(boxes), 5):
        side, by = draw.randrange(4), draw.uniform(8, 30)
        moved = list(boxes[at])
        span = moved[2 + side % 2] - moved[side % 2]
        edge = (WIDTH, HEIGHT)[side % 2]
        moved[side % 2] = -by if side < 2 else edge + by - span
        moved[2 + side % 2] = moved[side % 2] + span
        boxes[at] = (moved[0], moved[1], moved[2], moved[3])
    assert said(boxes, format, relative=format in ("yolo", "tfrecord")) == []


def test_one_wild_box_is_no_other_size() -> None:
    boxes = [(x * 0.5, y * 0.5, a * 0.5, b * 0.5) for x, y, a, b in objects(60)]
    wild = [(900.0, 700.0, 1280.0, 960.0), (10.0, 10.0, 1280.0, 960.0)]
    assert said([*boxes, *wild], "csv") == []


def test_close_ups_hold_no_second_corner() -> None:
    """In a close-up of one object in the middle the size is larger than the corner, as a second corner would be."""
    draw = random.Random(2)
    boxes: list[Corners] = []
    for _ in range(60):
        x, y = draw.uniform(40, 160), draw.uniform(30, 120)
        boxes.append((x, y, WIDTH - x + draw.uniform(-20, 20), HEIGHT - y + draw.uniform(-20, 20)))
    assert said(boxes, "coco") == []
    areas = [0.7 * (c[2] - c[0]) * (c[3] - c[1]) for c in boxes]
    assert said(boxes, "coco", areas=areas) == []


def test_corners_that_stay_inside_are_known_by_the_area_or_by_growing_with_the_corner() -> None:
    real = [(x / 3, y / 3, a / 3, b / 3) for x, y, a, b in objects()]
    read = [(x, y, x + a, y + b) for x, y, a, b in real]
    areas = [(a - x) * (b - y) for x, y, a, b in real]
    assert said(read, "coco", areas=areas) == ["corners-as-size"]
    assert said(read, "coco") == ["corners-as-size"]


def test_a_turned_image_is_no_exchange_of_axes() -> None:
    """Boxes in the stored frame of an image with EXIF orientation fit that frame."""
    facts = ImageFacts(width=WIDTH, height=HEIGHT, format="JPEG", mode="RGB", orientation=6)
    assert said(objects(), "voc", facts=facts) == []


def test_too_few_boxes_prove_nothing() -> None:
    assert said([centred(box) for box in objects(9)], "coco") == []


def voc_of_sizes(folder: Path) -> Path:
    """VOC with [x, y, width, height] in xmin to ymax."""
    images = {}
    for n in range(24):
        box = ("cat" if n % 2 else "dog", 30 + n % 9, 20, 20, 15)
        images[f"{n:03d}.jpg"] = (made.image(seed=n), (64, 48), [box])
    return made.voc(folder, images)


def test_the_cause_is_reported_and_not_its_consequences(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    report, _ = check([DatasetPart(str(voc_of_sizes(tmp_path / "d")))], processes=1)
    assert made.slugs(report) == {"size-as-corners": 24}
    assert report.findings[0].places[0].detail == (
        "24 of 24 boxes do not fit their images; read as [left, top, width, height], all of them fit"
    )


def test_repair_does_not_turn_sizes_into_wrong_boxes(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="a corner and a size where the format has two corners"):
        repair(str(voc_of_sizes(tmp_path / "d")), str(tmp_path / "copy"))
    assert not (tmp_path / "copy").exists()


def test_boxes_of_one_source_are_in_another_convention() -> None:
    sample = BoxSample()
    for at, corners in enumerate(objects(240)):
        name = f"{'phone' if at % 4 == 0 else 'camera'}_{at:03d}.jpg"
        c = (*corners[:2], corners[0] + corners[2], corners[1] + corners[3]) if at % 4 == 0 else corners
        sample.add(Record(name, name, ImageRef(name), (Box(*c, "cat"),)), FACTS, relative=False)
    problems, accounted = sample.problems("coco", "d", relative=False)
    assert [(one.finding, one.detail.split(":")[0], one.count) for one in problems] == [
        ("corners-as-size", "phone*.jpg", 60)
    ]
    assert accounted


def test_a_careless_hand_in_another_source_is_not_accounted_for() -> None:
    sample = BoxSample()
    for at, corners in enumerate(objects(240)):
        name = f"{'phone' if at % 4 == 0 else 'camera'}_{at:03d}.jpg"
        c = (*corners[:2], corners[0] + corners[2], corners[1] + corners[3]) if at % 4 == 0 else corners
        c = (-20.0, *corners[1:]) if at == 3 else c
        sample.add(Record(name, name, ImageRef(name), (Box(*c, "cat"),)), FACTS, relative=False)
    problems, accounted = sample.problems("coco", "d", relative=False)
    assert [one.finding for one in problems] == ["corners-as-size"] and not accounted
