"""What TensorBoard is given of a validation: pictures, curves and the recipe, read by TensorFlow's own types."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from holdfast.evaluate.coco_metrics import score
from holdfast.evaluate.evaluation_view import PageImage, report_data, true_positives
from holdfast.train.observers.tensorboard_images import TensorBoardImages, pr_table, side_by_side
from tests.evaluate.test_showing import found, truth

pytestmark = pytest.mark.hot


def small(row: int) -> PageImage:
    out = io.BytesIO()
    Image.new("RGB", (50, 40), (90, 90, 90)).save(out, "JPEG")
    return PageImage(f"{row}.jpg", 100, 80, out.getvalue())


def test_which_finds_are_right() -> None:
    assert true_positives(truth(), found()).tolist() == [True, False, False]


def test_the_table_of_a_curve() -> None:
    rows = pr_table(np.array([0.9, 0.8, 0.7]), np.array([True, False, True]), there=4)
    assert rows.shape == (6, 101)
    assert rows[:, 75].tolist() == [1, 1, 0, 3, 0.5, 0.25]
    assert rows[:, 0].tolist() == [2, 1, 0, 2, pytest.approx(2 / 3), 0.5]
    assert rows[:, 100].tolist() == [0, 0, 0, 4, 1, 0], "nothing found is nothing wrong"


def test_what_is_there_stands_beside_what_was_found() -> None:
    shown = report_data(truth(), found(), score(truth(), found()), small)
    both = side_by_side(shown["pictures"][0])
    assert both.size == (104, 40)
    missed = both.getpixel((0, 2))
    assert missed[0] > 200 > missed[1], "a missed box is red"


def test_tensorflow_reads_it(tmp_path: Path) -> None:
    tf = pytest.importorskip("tensorflow")

    shown = report_data(truth(), found(), score(truth(), found()), small)
    events = TensorBoardImages(
        tmp_path, {"train": {"batch": 16, "optimizer": "adamw"}, "model": {"weights": None}}
    )
    events.write(7, truth(), found(), shown)
    (file,) = tmp_path.iterdir()
    read = [tf.compat.v1.Event.FromString(one.numpy()) for one in tf.data.TFRecordDataset(str(file))]
    assert read[0].file_version == "brain.Event:2"
    assert b"train.optimizer" in read[1].summary.value[0].metadata.plugin_data.content
    assert read[2].step == 7
    values = {value.tag: value for value in read[2].summary.value}
    assert set(values) == {
        *(f"worst/{n}" for n in range(4)),
        *(f"precision_recall/{n}" for n in ("all", "cat", "dog")),
    }
    assert values["worst/0"].image.width == 104
    curve = tf.make_ndarray(values["precision_recall/cat"].tensor)
    assert curve.shape == (6, 101)
    assert curve[:, 75].tolist() == [1, 0, 0, 1, 1, 0.5]
    assert values["precision_recall/cat"].metadata.plugin_data.plugin_name == "pr_curves"
