"""Each kind of dirt, planted alone in a clean dataset, is found at its place; the clean dataset has none."""

from __future__ import annotations

import json
import multiprocessing
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.data.checking.check_text import as_text, in_a_line
from holdfast.data.checking.dataset_check import DatasetPart, Report, check
from holdfast.data.findings import DataFinding, FindingPlace

from . import made

Plant = Callable[[Path], None]


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))


def checked(path: Path, **options: object) -> Report:
    return check([DatasetPart(str(path))], processes=1, **options)[0]  # type: ignore[arg-type]


def test_a_clean_dataset_has_no_findings(tmp_path: Path) -> None:
    report = checked(made.clean_voc(tmp_path / "d"))
    assert (report.images, report.boxes, report.classes) == (24, 24, ("cat", "dog"))
    assert report.findings == ()


def test_a_file_is_named_once_for_all_that_is_wrong_in_it() -> None:
    places = (FindingPlace("d", "'cat' has 1 box"), FindingPlace("d", "'dog' has 2 boxes"))
    rare = DataFinding("rare-class", "warning", 2, places, "collect more examples")
    shown = as_text(Report("d", 3, 3, ("cat", "dog"), (rare,))).splitlines()
    assert shown[3:6] == ["  found   d", "          'cat' has 1 box", "          'dog' has 2 boxes"]


def test_a_class_name_of_a_million_characters_is_not_printed_whole() -> None:
    name = "c" * 1_000_000
    places = (FindingPlace("d", f"{name!r} has 3 boxes"),)
    rare = DataFinding("rare-class", "warning", 1, places, "collect more examples")
    shown = as_text(Report("d", 3, 3, (name,), (rare,)))
    assert "3 boxes, 1 class (ccc" in shown
    assert max(map(len, [*shown.splitlines(), in_a_line(rare)])) == 600


def boxed(folder: Path, *corners: float, name: str = "cat") -> None:
    (folder / "007.xml").write_text(made.voc_xml("007.jpg", (64, 48), [(name, *corners)]))  # type: ignore[list-item]


def rewritten(folder: Path, data: bytes, name: str = "007.jpg") -> None:
    (folder / name).write_bytes(data)


DIRT: list[tuple[str, str, Plant]] = [
    ("missing-image", "error", lambda d: (d / "007.jpg").unlink()),
    ("annotation-without-image", "error", lambda d: (d / "007.jpg").unlink()),
    ("unreadable-image", "error", lambda d: rewritten(d, b"not an image at all")),
    ("truncated-image", "error", lambda d: rewritten(d, made.image(seed=7)[:-40])),
    ("unreadable-image", "error", lambda d: rewritten(d, b"")),
    ("wrong-extension", "warning", lambda d: rewritten(d, made.image(seed=7, format="PNG"))),
    ("unsupported-mode", "warning", lambda d: rewritten(d, made.image(seed=7, mode="CMYK"))),
    ("unsupported-mode", "note", lambda d: rewritten(d, made.image(seed=7, mode="L"))),
    ("undecoded-kind", "error", lambda d: rewritten(d, made.image(seed=7, format="BMP", mode="P"))),
    ("undecoded-kind", "error", lambda d: rewritten(d, made.image(seed=7, format="TIFF"))),
    ("exif-rotated", "warning", lambda d: rewritten(d, made.rotated(48, 64, 6, seed=7))),
    ("inverted-box", "error", lambda d: boxed(d, 30, 6, 5, 40)),
    ("zero-area-box", "error", lambda d: boxed(d, 30, 6, 30, 40)),
    ("outside-box", "error", lambda d: boxed(d, 30, 6, 90, 40)),
    ("outside-box", "error", lambda d: boxed(d, -30, 6, 20, 40)),
    ("edge-rounding", "note", lambda d: boxed(d, 30, 6, 65, 40)),
    ("not-finite-box", "error", lambda d: boxed(d, float("nan"), 6, 20, 40)),
    ("not-finite-box", "error", lambda d: boxed(d, 5, 6, float("inf"), 40)),
    ("wrapped-box", "error", lambda d: boxed(d, 65535, 6, 20, 40)),
    ("inverted-box", "error", lambda d: boxed(d, 65535, 6, 20, 40)),
    ("tiny-box", "note", lambda d: boxed(d, 20, 6, 25, 40)),
    ("tiny-box", "warning", lambda d: (d / "007.xml").write_text(
        made.voc_xml("007.jpg", (64, 48), [("cat", 20, 6, 20.5, 40)])) and None),
    ("duplicate-box", "warning", lambda d: (d / "007.xml").write_text(
        made.voc_xml("007.jpg", (64, 48), [("cat", 20, 6, 40, 40)] * 2)) and None),
    ("duplicate-image", "warning", lambda d: made.voc(
        d, {"again.jpg": ((d / "007.jpg").read_bytes(), (64, 48), [("cat", 5, 6, 37, 40)])}) and None),
    ("duplicate-image-different-labels", "warning", lambda d: made.voc(
        d, {"again.jpg": ((d / "007.jpg").read_bytes(), (64, 48), [("cat", 9, 9, 37, 40)])}) and None),
    ("near-duplicate-class-names", "warning", lambda d: boxed(d, 5, 6, 30, 40, name="Cat ")),
    ("rare-class", "warning", lambda d: boxed(d, 5, 6, 30, 40, name="horse")),
    ("image-without-boxes", "note", lambda d: (d / "007.xml").write_text(
        made.voc_xml("007.jpg", (64, 48), [])) and None),
    ("image-without-annotation", "warning", lambda d: (d / "007.xml").unlink()),
    ("unreadable-annotation", "error", lambda d: (d / "007.xml").write_text("<annotation><object>") and None),
    ("outsize-image", "warning", lambda d: rewritten(d, made.image(2000, 1500, seed=7))),
    ("crowded-image", "warning", lambda d: (d / "007.xml").write_text(
        made.voc_xml("007.jpg", (64, 48), [("cat", n, 6, n + 20, 40) for n in range(1, 40)])) and None),
]  # fmt: skip


@pytest.mark.parametrize(
    ("slug", "severity", "plant"), DIRT, ids=[f"{row[0]}-{n}" for n, row in enumerate(DIRT)]
)
def test_planted_dirt_is_found(tmp_path: Path, slug: str, severity: str, plant: Plant) -> None:
    folder = made.clean_voc(tmp_path / "d")
    plant(folder)
    report = checked(folder)
    found = next((finding for finding in report.findings if finding.slug == slug), None)
    assert found is not None, made.slugs(report)
    assert found.severity == severity
    assert any(
        "007" in place.file + place.detail or slug in ("near-duplicate-class-names", "rare-class")
        for place in found.places
    )
    assert report.spoiled == any(finding.severity == "error" for finding in report.findings)


def test_a_leak_between_splits(tmp_path: Path) -> None:
    folder = made.clean_voc(tmp_path / "d" / "train")
    made.voc(
        tmp_path / "d" / "test",
        {"x.jpg": ((folder / "003.jpg").read_bytes(), (64, 48), [("cat", 5, 6, 33, 40)])},
    )
    report = checked(tmp_path / "d")
    leak = next(finding for finding in report.findings if finding.slug == "split-leak")
    assert (leak.severity, leak.count) == ("error", 1)
    assert "train" in leak.places[0].detail and "test" in leak.places[0].detail


def test_a_leak_between_two_paths(tmp_path: Path) -> None:
    made.clean_voc(tmp_path / "a")
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    report, _ = check(
        [DatasetPart(str(tmp_path / "a"), "train"), DatasetPart(str(tmp_path / "b"), "validation")],
        processes=1,
    )
    assert made.slugs(report)["split-leak"] == 24


@pytest.mark.parametrize(
    ("declared", "box", "fit", "severity"),
    [
        ((128, 96), (60, 50, 120, 90), "declared", "error"),  # outside the real image
        ((32, 24), (20, 10, 60, 40), "real", "warning"),  # outside the declared one
        ((32, 24), (2, 2, 30, 20), "declared", "error"),  # fits both: never leaves the smaller
        ((128, 96), (2, 2, 30, 20), "real", "warning"),
    ],
)
def test_which_size_the_boxes_fit(
    tmp_path: Path, declared: tuple[int, int], box: tuple[int, ...], fit: str, severity: str
) -> None:
    folder = made.clean_voc(tmp_path / "d")
    (folder / "007.xml").write_text(made.voc_xml("007.jpg", declared, [("cat", *box)]))  # type: ignore[list-item]
    report = checked(folder)
    found = next(finding for finding in report.findings if finding.slug == "size-mismatch")
    assert dict(found.extra) == {"boxes_fit": fit}
    assert found.severity == severity
    assert found.as_json()["boxes_fit"] == fit
    assert "outside-box" not in made.slugs(report)


@pytest.mark.parametrize(
    ("declared", "box", "frame"),
    [((48, 64), (5, 50, 40, 62), "upright"), ((64, 48), (40, 5, 60, 30), "stored")],
)
def test_the_frame_of_turned_images_is_proved(
    tmp_path: Path, declared: tuple[int, int], box: tuple[int, ...], frame: str
) -> None:
    folder = made.clean_voc(tmp_path / "d")
    rewritten(folder, made.rotated(64, 48, 6, seed=7))
    (folder / "007.xml").write_text(made.voc_xml("007.jpg", declared, [("cat", *box)]))  # type: ignore[list-item]
    report = checked(folder)
    detail = next(finding for finding in report.findings if finding.slug == "exif-rotated").places[0].detail
    assert f"boxes in the {frame} frame: the boxes fit " in detail
    assert "outside-box" not in made.slugs(report)
    assert "size-mismatch" not in made.slugs(report)


def test_two_sets_of_annotations_that_differ(tmp_path: Path) -> None:
    folder = made.clean_voc(tmp_path / "d")
    rows = [f"{n:03d}.jpg,64,48,{'cat' if n % 2 else 'dog'},5,6,{30 + n % 9},40" for n in range(24)]
    rows[7] = rows[7].replace(",5,6,", ",15,6,")
    (folder / "labels.csv").write_text("filename,width,height,class,xmin,ymin,xmax,ymax\n" + "\n".join(rows))
    report = checked(folder)
    found = next(finding for finding in report.findings if finding.slug == "annotation-sources-disagree")
    assert found.count == 1
    assert "007.jpg: 1 boxes only here, 1 only in the csv" in found.places[0].detail


def test_yolo_ids_that_count_from_one(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    (tmp_path / "labels").mkdir()
    for n in range(24):
        (tmp_path / "images" / f"{n}.jpg").write_bytes(made.image(seed=n))
        (tmp_path / "labels" / f"{n}.txt").write_text(f"{1 + n % 2} 0.5 0.5 0.4 0.4\n")
    (tmp_path / "data.yaml").write_text("train: images\nnames: [cat, dog]\n")
    found = made.slugs(checked(tmp_path))
    assert found["unknown-class"] == 12
    assert found["class-id-off-by-one"] == 1


def test_classes_of_a_recipe(tmp_path: Path) -> None:
    report = checked(made.clean_voc(tmp_path / "d"), classes=["cat"])
    assert made.slugs(report)["unknown-class"] == 12


def test_places_are_few_and_counts_are_whole(tmp_path: Path) -> None:
    folder = made.clean_voc(tmp_path / "d")
    for file in folder.glob("*.jpg"):
        file.write_bytes(b"")
    found = next(finding for finding in checked(folder).findings if finding.slug == "unreadable-image")
    assert (found.count, len(found.places)) == (24, 5)


def test_the_second_run_decodes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import holdfast.data.checking.dataset_check as checks
    import holdfast.data.files.process_pool as workers

    folder = made.clean_voc(tmp_path / "d")
    first = checked(folder)
    monkeypatch.setattr(workers, "_context", lambda: multiprocessing.get_context("fork"))

    def never(_: object) -> None:
        raise AssertionError("decoded again")

    monkeypatch.setattr(checks, "probe_image", never)  # workers are forked, so they see it too
    assert checked(folder) == first
    rewritten(folder, made.image(99, 99, seed=7))
    with pytest.raises(AssertionError, match="decoded again"):
        checked(folder)


def test_json_has_the_agreed_shape(tmp_path: Path) -> None:
    folder = made.clean_voc(tmp_path / "d")
    boxed(folder, 30, 6, 30, 40)
    document = json.loads(json.dumps(checked(folder).as_json()))
    assert {key: document[key] for key in ("images", "boxes", "classes")} == {
        "images": 24,
        "boxes": 24,
        "classes": ["cat", "dog"],
    }
    (finding,) = document["findings"]
    assert set(finding) == {"finding", "severity", "count", "places", "remedy"}
    assert finding["finding"] == "zero-area-box"
    assert finding["places"] == [{"file": f"{folder}/007.xml", "detail": "007.jpg: box 30,6,30,40 'cat'"}]


def test_images_of_16_bits_among_grey_ones_are_named(tmp_path: Path) -> None:
    deep = {n: made.sixteen_bits() for n in (3, 8, 14)}
    made.voc(
        tmp_path,
        {f"{n:03d}.png": (deep.get(n) or made.image(seed=n, format="PNG", mode="L"), (64, 48), [("cat", 5, 6, 30, 40)])
         for n in range(16)},
    )  # fmt: skip
    report = check([DatasetPart(str(tmp_path))], use_cache=False)[0]
    found = [one for one in report.findings if one.slug == "unsupported-mode"]
    assert [(one.severity, one.count, one.extra) for one in found] == [
        ("warning", 3, (("mode", "I;16"),)), ("note", 13, ())]  # fmt: skip
    assert [place.file.rsplit("/", 1)[-1] for place in found[0].places] == ["003.png", "008.png", "014.png"]


def test_labels_that_a_search_for_jpg_lost(tmp_path: Path) -> None:
    """One warning, and not the notes that nothing needs to be done."""
    (tmp_path / "data.yaml").write_text("train: images\nnames: [cat]\n")
    for n in range(36):
        image = tmp_path / "images" / (f"IMG_{n:03d}.jpg" if n % 6 else f"DSC_{n:03d}.JPG")
        image.parent.mkdir(exist_ok=True)
        image.write_bytes(made.image(seed=n))
        if n % 6:
            label = tmp_path / "labels" / f"{image.stem}.txt"
            label.parent.mkdir(exist_ok=True)
            label.write_text(f"0 0.5 0.5 0.{3 + n % 5} 0.4\n")
    report = check([DatasetPart(str(tmp_path))], use_cache=False)[0]
    assert {one.slug: (one.severity, one.count) for one in report.findings} == {
        "images-not-annotated": ("warning", 6)
    }


def test_coco_files_that_number_classes_otherwise(tmp_path: Path) -> None:
    for split, names in {"train": ["cat", "dog"], "valid": ["dog", "cat"]}.items():
        categories = [{"id": at, "name": name} for at, name in enumerate(names, 1)]
        images = [{"id": n, "file_name": f"{n}.jpg", "width": 64, "height": 48} for n in range(12)]
        boxes = [
            {"id": n, "image_id": n, "category_id": 1 + n % 2, "bbox": [4, 5, 20 + n, 30]} for n in range(12)
        ]
        made.coco(tmp_path / split, images, boxes, categories)
        for n in range(12):
            (tmp_path / split / f"{n}.jpg").write_bytes(made.image(seed=n + 50 * (split == "valid")))
    report = check([DatasetPart(str(tmp_path))], use_cache=False)[0]
    (finding,) = [one for one in report.findings if one.slug == "class-lists-disagree"]
    assert finding.severity == "warning"
    assert finding.places[0].file.endswith("valid/annotations.json")
    assert "1 is 'dog' here and 'cat' there" in finding.places[0].detail
