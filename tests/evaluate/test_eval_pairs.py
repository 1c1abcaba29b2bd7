"""Published pairs of ground truth and detections, with published values."""

import json

import numpy as np
import pytest

from holdfast.evaluate.box_columns import GroundTruth, Predictions
from holdfast.evaluate.coco_metrics import NUMBERS, score
from holdfast.evaluate.detection_files import read_ground_truth, read_predictions
from holdfast.evaluate.voc_metrics import average_precision
from tests import real_data

PAIRS = real_data.DATA / "eval_pairs"
# The published VOC case counts pixels inclusively: a box from 10 to 10 is one pixel wide.
INCLUSIVE = np.array([0, 0, 1, 1])
LONG = {"s": "small", "m": "medium", "l": "large"}

pytestmark = real_data.needs(PAIRS)


@pytest.mark.parametrize(
    ("folder", "truth_name", "found_name"),
    [
        ("coco_val2014_100", "instances_val2014_100.json", "instances_val2014_fakebbox100_results.json"),
        ("coco_small", "gt_dataset.json", "dt_dataset.json"),
    ],
)
def test_all_twelve_numbers(folder, truth_name, found_name):
    expected = json.loads((PAIRS / folder / "expected.json").read_text())["bbox"]
    truth = read_ground_truth(PAIRS / folder / truth_name)
    numbers = score(truth, read_predictions(PAIRS / folder / found_name, truth)).numbers
    for name in NUMBERS:
        assert numbers[name] == pytest.approx(expected[name[:2] + LONG.get(name[2:], name[2:])], abs=1e-6), (
            name
        )


def rows_of(folder):
    for path in sorted((PAIRS / "voc_test_case_1" / folder).glob("*.txt")):
        for line in path.read_text().splitlines():
            yield path.stem, [float(value) for value in line.split()[1:]]


@pytest.mark.parametrize("iou", ["0.1", "0.3", "0.5", "0.75"])
def test_voc_at_four_overlaps(iou):
    expected = json.loads((PAIRS / "voc_test_case_1" / "expected.json").read_text())
    truth_rows, found_rows = list(rows_of("gts")), list(rows_of("dets"))
    images = tuple(sorted({name for name, _ in truth_rows + found_rows}))
    place = [images.index(name) for name, _ in truth_rows]
    boxes = np.array([row for _, row in truth_rows]) + INCLUSIVE
    count = len(truth_rows)
    truth = GroundTruth(
        images,
        ((0, "object"),),
        np.array(place),
        np.zeros(count, int),
        boxes,
        np.zeros(count, bool),
        np.ones(count),
    )
    found = Predictions(
        np.array([images.index(name) for name, _ in found_rows]),
        np.zeros(len(found_rows), int),
        np.array([row[1:] for _, row in found_rows]) + INCLUSIVE,
        np.array([row[0] for _, row in found_rows]),
    )
    every_point = average_precision(truth, found, 0, iou=float(iou))
    eleven = average_precision(truth, found, 0, iou=float(iou), eleven_points=True)
    assert every_point == pytest.approx(expected["every_point"][iou], abs=1e-6)
    assert eleven == pytest.approx(expected["eleven_point"][iou], abs=1e-6)
