"""Event files as TensorFlow's own reader sees them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from holdfast.journal import events as ev
from holdfast.train.observers.tensorboard import TensorBoard

pytest.importorskip("tensorflow")  # the judge; `make test-jax` reads the files' records itself
pytestmark = pytest.mark.hot


def read(folder: Path) -> list[Any]:
    import tensorflow as tf

    files = sorted(folder.iterdir())
    return [event for file in files for event in tf.compat.v1.train.summary_iterator(str(file))]


def scalars(folder: Path) -> list[tuple[int, dict[str, float]]]:
    found = [
        (event.step, {value.tag: round(value.simple_value, 4) for value in event.summary.value})
        for event in read(folder)
    ]
    return [(step, values) for step, values in found if values]


def loss(step: int, norm: float | None, **parts: float) -> ev.LossSeen:
    return ev.LossSeen(
        step=step, logs={"loss": sum(parts.values()), **parts}, learning_rate=0.5, gradient_norm=norm
    )


def told(folder: Path, detector: str, events: list[ev.Event], resumed_at: int = 0) -> None:
    monotonic = iter([10.0, 12.0, 14.0])
    board = TensorBoard(
        folder, detector, resumed_at=resumed_at, clock=lambda: 1.7e9, monotonic=lambda: next(monotonic)
    )
    for event in events:
        board.notify(event)


def test_the_tags_are_those_of_the_object_detection_api(tmp_path: Path) -> None:
    events: list[ev.Event] = [
        loss(1, 2.0, classification=1.0, localization=0.5),
        loss(5, 3.0, classification=0.75, localization=0.25),
        loss(5, None, classification=0.9, localization=0.4),
        ev.ValidationDone(logs={"AP": 0.25, "AP50": 0.5, "ARl": -1.0}),
        ev.FitDone(),
    ]
    told(tmp_path, "ssd", events)
    assert scalars(tmp_path / "train") == [
        (1, {"Loss/classification_loss": 1.0, "Loss/localization_loss": 0.5, "Loss/total_loss": 1.5,
             "learning_rate": 0.5, "gradient_norm": 2.0}),
        (5, {"Loss/classification_loss": 0.75, "Loss/localization_loss": 0.25, "Loss/total_loss": 1.0,
             "learning_rate": 0.5, "gradient_norm": 3.0, "steps_per_sec": 2.0}),
    ]  # fmt: skip
    assert scalars(tmp_path / "eval") == [
        (5, {"DetectionBoxes_Precision/mAP": 0.25, "DetectionBoxes_Precision/mAP@.50IOU": 0.5,
             "DetectionBoxes_Recall/AR@100 (large)": -1.0}),
    ]  # fmt: skip
    first = read(tmp_path / "train")[0]
    assert (first.file_version, first.wall_time) == ("brain.Event:2", 1.7e9)


def test_the_two_stages_have_names_of_their_own_and_a_resume_marks_what_is_void(tmp_path: Path) -> None:
    parts = {"rpn_objectness": 1.0, "rpn_localization": 2.0, "classification": 3.0, "localization": 4.0}
    told(tmp_path, "faster-rcnn", [loss(41, 1.0, **parts)], resumed_at=40)
    assert set(scalars(tmp_path / "train")[0][1]) >= {
        "Loss/RPNLoss/objectness_loss", "Loss/RPNLoss/localization_loss",
        "Loss/BoxClassifierLoss/classification_loss", "Loss/BoxClassifierLoss/localization_loss",
    }  # fmt: skip
    mark = read(tmp_path / "train")[1]
    assert (mark.step, mark.session_log.status) == (41, mark.session_log.START)


def test_a_loss_beyond_four_bytes_is_infinite_and_no_error(tmp_path: Path) -> None:
    told(tmp_path, "ssd", [loss(1, 1e39, classification=-1e300, localization=float("nan"))])
    values = {value.tag: value.simple_value for value in read(tmp_path / "train")[1].summary.value}
    assert (values["gradient_norm"], values["Loss/classification_loss"]) == (float("inf"), -float("inf"))
    assert values["Loss/localization_loss"] != values["Loss/localization_loss"]
