"""From a recipe to what is trained on: packed copies are found by training where `holdfast data pack` put them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PIL import Image

from holdfast.cli.main import main
from holdfast.cli.recipes import resolve_recipe
from holdfast.pipeline import dataset_columns
from holdfast.train import dataset_setup

RECIPE = """
[data]
train = "large"
validation_fraction = 0.25
[model]
input = 64
"""


def large_pictures(folder: Path) -> None:
    (folder / "large").mkdir()
    images, annotations = [], []
    for number in range(1, 9):
        Image.effect_noise((640, 480), 40).convert("RGB").save(folder / "large" / f"{number}.jpg")
        images.append({"id": number, "file_name": f"{number}.jpg", "width": 640, "height": 480})
        annotations.append(
            {"id": number, "image_id": number, "category_id": 1, "bbox": [10, 20, 300, 200], "area": 1}
        )
    content = {"images": images, "annotations": annotations, "categories": [{"id": 1, "name": "thing"}]}
    (folder / "large" / "annotations.json").write_text(json.dumps(content))


def test_training_finds_the_pack_that_the_command_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    large_pictures(tmp_path)
    (tmp_path / "recipe.toml").write_text(RECIPE)
    recipe = resolve_recipe("recipe.toml", [])
    trained = dataset_columns.columns_of(dataset_setup.load_splits(recipe).train)
    assert dataset_setup.find_pack(trained, dataset_setup.build_feed(recipe)) is None
    assert main(["data", "pack", "recipe.toml", "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["packed"] == 6
    found = dataset_setup.find_pack(trained, dataset_setup.build_feed(recipe))
    assert found is not None
    assert found.rows.tolist() == list(range(6))
    other = resolve_recipe("recipe.toml", ["model.input=128"])
    assert dataset_setup.find_pack(trained, dataset_setup.build_feed(other)) is None, (
        "another input needs other copies"
    )


@pytest.mark.parametrize(
    ("wanted", "on_gpu", "servers", "sends"),
    [
        ("auto", True, "", True),
        ("auto", False, "", False),
        ("auto", True, "host:5050", False),
        ("host", True, "", False),
        ("device", False, "", True),
        ("device", True, "host:5050", True),
    ],
)
def test_where_pictures_are_resized(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wanted: str, on_gpu: bool, servers: str, sends: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    large_pictures(tmp_path)
    (tmp_path / "recipe.toml").write_text(RECIPE)
    more = [f'hardware.data_service=["{servers}"]'] if servers else []
    recipe = resolve_recipe(
        "recipe.toml", [f"data.resize={wanted}", "data.augment=none", "model.input=96", *more]
    )
    trained = dataset_columns.columns_of(dataset_setup.load_splits(recipe).train)
    made = dataset_setup.with_sent_pixels(recipe, trained, dataset_setup.build_feed(recipe), on_gpu=on_gpu)
    # SSD stretches 640 x 480 to 96 x 96: decoded at 1/4, which the shorter side allows.
    assert made.sent_pixels == ((160 * 120 + 1023) // 1024 * 1024 if sends else None)
