"""What a training records of its recipe and data before the first step."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from holdfast import settings
from holdfast.data.synthetic import make_dataset
from holdfast.detectors.spec import DetectorSpec
from holdfast.journal import events as ev
from holdfast.pipeline.dataset_columns import columns_of
from holdfast.train import dataset_setup
from holdfast.train.event_text import event_line
from holdfast.train.learning.start_checks import anchor_coverage, start_events

CLASSES = ("circle", "square", "triangle")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("shapes")
    make_dataset(made / "train", count=40, side=96, seed=1)
    make_dataset(made / "val", count=12, side=96, seed=2)
    file = made / "train" / "annotations.json"
    content = json.loads(file.read_text())
    content["annotations"] = [one for one in content["annotations"] if one["category_id"] != 3]
    file.write_text(json.dumps(content))
    return made


def events(folder: Path, side: int, *overrides: str) -> list[ev.Event]:
    data = {"train": str(folder / "train"), "validation": str(folder / "val")}
    recipe = settings.resolve({"data": data, "model": {"input": side}}, overrides)
    splits = dataset_setup.load_splits(recipe)
    spec = DetectorSpec("ssd", "mobilenet_v2", CLASSES, (side, side))
    return list(start_events(recipe, spec, columns_of(splits.train), columns_of(splits.validation)))


def test_settings_classes_and_anchors(folder: Path) -> None:
    doubted, unlearned, compared = events(folder, 64, "train.learning_rate=1e-8")
    assert isinstance(doubted, ev.SettingDoubted) and isinstance(unlearned, ev.ClassesUnlearned)
    assert (doubted.rule, doubted.setting, doubted.value) == (
        "weights-cannot-move",
        "train.learning_rate",
        1e-8,
    )
    assert event_line(doubted).startswith("warning: train.learning_rate = 1e-08: all 2000 steps together")
    assert list(unlearned.boxes) == ["triangle"] and unlearned.of > unlearned.boxes["triangle"]
    assert (
        event_line(unlearned) == "warning: classes with boxes for validation and none for training: triangle"
    )
    assert isinstance(compared, ev.AnchorsCompared)
    assert set(compared.by_class) == {"circle", "square"} and not compared.fitted


def test_anchors_are_compared_in_the_input(folder: Path) -> None:
    """SSDLite's smallest anchor is a fifth of the input; more cells come nearer to a box."""
    small, large = (events(folder, side)[-1] for side in (64, 256))
    assert isinstance(small, ev.AnchorsCompared) and isinstance(large, ev.AnchorsCompared)
    assert small.boxes == large.boxes > 40
    assert small.uncovered > small.boxes / 2 > 5 * large.uncovered
    assert "of the boxes overlap no anchor by half at 64 px" in event_line(small)
    assert event_line(large) == ""


def test_data_without_boxes_has_no_coverage(folder: Path) -> None:
    recipe = settings.resolve(
        {"data": {"train": str(folder / "train"), "validation": str(folder / "val")}}, []
    )
    columns = columns_of(dataset_setup.load_splits(recipe).train)
    columns.crowds[:] = True
    assert anchor_coverage(DetectorSpec("ssd", "mobilenet_v2", CLASSES, (64, 64)), columns) is None
