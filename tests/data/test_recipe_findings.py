"""`holdfast check RECIPE`: settings that keep it from learning, by name and line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from holdfast.cli.main import main
from holdfast.data.synthetic import make_dataset

HEALTHY = """\
[data]
train = "train"
validation = "validation"
[model]
detector = "ssd"
backbone = "mobilenet_v2"
input = 128
[train]
backend = "tensorflow"
steps = 240
batch = 16
learning_rate = 2e-3
"""


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shapes")
    make_dataset(folder / "train", count=60, side=96, seed=1)
    make_dataset(folder / "validation", count=20, side=96, seed=2)
    return folder


def checked(folder: Path, recipe: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    (folder / "recipe.toml").write_text(recipe)
    main(["check", str(folder / "recipe.toml"), "--no-speed", "--json"])
    rows = json.loads(capsys.readouterr().out)["findings"]
    return {row["finding"]: row for row in rows if row["severity"] != "note"}


def test_a_healthy_recipe_is_quiet(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert checked(data, HEALTHY, capsys) == {}  # a fifth of the boxes has no anchor near: a note


def test_a_setting_has_its_line_what_follows_and_what_to_change(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = checked(data, HEALTHY.replace("2e-3", "2e-7"), capsys)["weights-cannot-move"]
    assert found["severity"] == "error"
    (place,) = found["places"]
    assert place["file"] == f"{data / 'recipe.toml'}:12"
    assert place["detail"] == (
        "train.learning_rate = 2e-07: all 240 steps together can change random weights by 0.00048 of their size at "
        "most: AdamW moves a weight by about the learning rate a step"
    )
    assert found["remedy"].startswith("train.learning_rate = 1e-3")


def test_a_default_has_no_line(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    short = HEALTHY.replace("steps = 240", "epochs = 1").replace("batch = 16\n", "")
    found = checked(data, short, capsys)["too-few-updates"]
    assert found["places"][0]["file"].endswith("recipe.toml:10")
    assert found["places"][0]["detail"].startswith(
        "train.epochs = 1: 4 updates of 16 images are 1.1 passes over 60"
    )


def test_anchors_at_a_small_input(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = checked(data, HEALTHY.replace("input = 128", "input = 64"), capsys)["uncovered-boxes"]
    first = found["places"][0]
    assert first["file"].endswith("recipe.toml:7")
    assert first["detail"].startswith("model.input = 64: ") and "circle" in first["detail"]
    assert "model.input = 256 (leaves " in found["remedy"]
    fitted = checked(data, HEALTHY.replace("input = 128", 'input = 256\nanchors = "fitted"'), capsys)
    assert "uncovered-boxes" not in fitted


def test_a_class_of_the_validation_alone(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = data / "train" / "annotations.json"
    before = file.read_text()
    content = json.loads(before)
    content["annotations"] = [one for one in content["annotations"] if one["category_id"] != 3]
    file.write_text(json.dumps(content))
    try:
        found = checked(data, HEALTHY, capsys)["unlearned-class"]
    finally:
        file.write_text(before)
    assert found["places"][0]["detail"].startswith("'triangle' has ")
