"""The real sets: every known piece of dirt is found, and nothing false on the clean one."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.data.checking.dataset_check import DatasetPart, Report, check
from holdfast.data.formats import label_map
from holdfast.data.reading.detect_format import open_sources
from holdfast.data.reading.load import read
from holdfast.errors import UnreadableAnnotation
from tests import real_data

from . import made

pytestmark = real_data.needs(made.REAL)
TENSORFLOW = made.REAL / "tfrecord_misc" / "tensorflow_models"


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def checked(name: str) -> Report:
    return check([DatasetPart(str(made.REAL / name))])[0]


def test_blood_cells() -> None:
    report = checked("bccd")
    assert (report.images, report.boxes, report.classes) == (364, 4888, ("Platelets", "RBC", "WBC"))
    assert made.severities(report) == {
        "zero-area-box": "error", "class-imbalance": "note", "unusual-column-order": "note"}  # fmt: skip
    empty = report.findings[0]
    assert empty.count == 2
    assert [place.file.rsplit("/", 1)[-1] for place in empty.places] == [
        "BloodImage_00338.xml",
        "BloodImage_00343.xml",
    ]
    assert "504,337,504,337" in empty.places[0].detail
    assert "181,329,181,329" in empty.places[1].detail


def test_blood_cells_in_csv_are_those_in_xml() -> None:
    by_name = {}
    for format in ("voc", "csv"):
        records = read(str(made.REAL / "bccd"), format).records
        by_name[format] = {
            record.file_name: sorted((box.name, *box.corners) for box in record.boxes) for record in records
        }
    assert len(by_name["csv"]) == 364
    assert by_name["csv"] == by_name["voc"]


def test_blood_cells_have_their_splits() -> None:
    splits = [record.split for record in read(str(made.REAL / "bccd")).records]
    assert {split: splits.count(split) for split in set(splits)} == {"train": 205, "val": 87, "test": 72}


def test_the_clean_control_is_clean() -> None:
    report = checked("microcontroller")
    assert (report.images, report.boxes) == (149, 177)
    assert report.classes == ("Raspberry_Pi_3", "Arduino_Nano", "ESP8266", "Heltec_ESP32_Lora")
    assert [finding for finding in report.findings if finding.severity != "note"] == []


def test_ball_screws() -> None:
    report = checked("bsdata_pitting")
    found = made.slugs(report)
    assert (report.images, report.boxes) == (140, 125)
    assert not report.spoiled
    assert (found["tiny-box"], found["image-without-annotation"], found["mixed-image-sizes"]) == (10, 30, 10)
    assert found["wide-aspect"] == 140
    assert made.severities(report)["image-without-annotation"] == "note"
    splits = [record.split for record in read(str(made.REAL / "bsdata_pitting")).records]
    assert (splits.count("train"), splits.count("test"), splits.count(None)) == (80, 30, 30)


def test_hyphae() -> None:
    report = checked("hyphal_tfrecord")
    found = made.slugs(report)
    assert (report.images, report.boxes, report.classes) == (251, 1075, ("tip",))
    assert found["mixed-image-sizes"] == 251
    assert found["tiny-box"] == 5
    assert not report.spoiled


def test_hyphae_in_records_are_those_in_csv() -> None:
    folder = str(made.REAL / "hyphal_tfrecord")
    boxes = {}
    for format in ("tfrecord", "csv"):
        records = read(folder, format).records
        boxes[format] = {
            record.file_name: sorted((box.name, *box.corners) for box in record.boxes) for record in records
        }
    assert boxes["tfrecord"] == boxes["csv"]


def test_the_pets_of_tensorflow() -> None:
    dataset = read(str(TENSORFLOW / "pets_examples.record"))
    assert len(dataset.records) == dataset.boxes == 10
    assert len(dataset.classes) == 37
    assert dict(zip(dataset.classes, dataset.class_ids, strict=True))["chihuahua"] == 11
    assert dataset.records[0].image.read()[:2] == b"\xff\xd8"


def test_a_sequence_example_is_refused() -> None:
    with pytest.raises(UnreadableAnnotation, match="SequenceExample") as caught:
        open_sources(str(TENSORFLOW / "snapshot_serengeti_sequence_examples.record"))
    assert caught.value.where.endswith("snapshot_serengeti_sequence_examples.record")


@pytest.mark.parametrize(
    ("name", "count", "first", "last"),
    [
        ("ava_label_map_v2.1", 60, (1, "bend/bow (at the waist)", ""), (80, "watch (a person)", "")),
        ("face_person_with_keypoints_label_map", 2, (1, "face", "face"), (2, "Person", "PERSON")),
        ("kitti_label_map", 2, (1, "car", ""), (2, "pedestrian", "")),
        ("mscoco_complete_label_map", 91, (0, "background", "background"), (90, "/m/012xff", "toothbrush")),
        ("mscoco_label_map", 80, (1, "/m/01g317", "person"), (90, "/m/012xff", "toothbrush")),
        ("oid_v4_label_map", 601, (1, "/m/011k07", "Tortoise"), (601, "/m/0zvk5", "Helmet")),
        ("pascal_label_map", 20, (1, "aeroplane", ""), (20, "tvmonitor", "")),
        ("pet_label_map", 37, (1, "Abyssinian", ""), (37, "yorkshire_terrier", "")),
    ],
)
def test_label_maps(name: str, count: int, first: tuple[int, str, str], last: tuple[int, str, str]) -> None:
    labels = label_map.read((TENSORFLOW / f"{name}.pbtxt").read_bytes(), name)
    assert len(labels) == count
    assert (labels[0], labels[-1]) == (label_map.Label(*first), label_map.Label(*last))


def test_coco_with_crowds_and_without_images() -> None:
    path = str(made.REAL / "eval_pairs" / "coco_val2014_100" / "instances_val2014_100.json")
    dataset = read(path)
    assert (len(dataset.records), dataset.boxes, len(dataset.classes)) == (100, 839, 80)
    assert sum(box.crowd for record in dataset.records for box in record.boxes) == 9
    assert dataset.class_ids[-1] == 90
    found = made.slugs(check([DatasetPart(path)])[0])
    assert (found["missing-image"], found["class-id-gap"]) == (100, 1)
