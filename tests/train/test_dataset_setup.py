"""From a recipe to what is trained on: packed copies are found by training where `holdfast data pack` put them."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from holdfast import settings
from holdfast.cli.main import main
from holdfast.cli.recipes import resolve_recipe
from holdfast.data.records import Dataset, ImageRef, Record
from holdfast.errors import HoldfastError
from holdfast.pipeline import dataset_columns
from holdfast.train import dataset_setup
from tests.data import made

RECIPE = """
[data]
train = "large"
validation_fraction = 0.25
[model]
input = 64
"""


def large_images(folder: Path) -> None:
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
    large_images(tmp_path)
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
    ("wanted", "on_gpu", "sends"),
    [
        ("auto", True, True),
        ("auto", False, False),
        ("host", True, False),
        ("device", False, True),
        ("device", True, True),
    ],
)
def test_where_images_are_resized(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wanted: str, on_gpu: bool, sends: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    large_images(tmp_path)
    (tmp_path / "recipe.toml").write_text(RECIPE)
    recipe = resolve_recipe("recipe.toml", [f"data.resize={wanted}", "data.augment=none", "model.input=96"])
    trained = dataset_columns.columns_of(dataset_setup.load_splits(recipe).train)
    made = dataset_setup.with_sent_pixels(recipe, trained, dataset_setup.build_feed(recipe), on_gpu=on_gpu)
    # SSD stretches 640 x 480 to 96 x 96: decoded at 1/4, which the shorter side allows.
    assert made.sent_pixels == ((160 * 120 + 1023) // 1024 * 1024 if sends else None)


def records(*names: str, split: str | None = None) -> tuple[Record, ...]:
    return tuple(Record(name, name, ImageRef(name), split=split) for name in names)


def test_held_out_by_name_the_same_images_every_time() -> None:
    def held_out(given: tuple[Record, ...], fraction: float) -> set[Record]:
        sides = dataset_setup.held_out_records(given, fraction)
        return {record for record, out in zip(given, sides, strict=True) if out}

    many = records(*(f"{number}.jpg" for number in range(50)))
    validation = held_out(many, 0.2)
    lowest = sorted(many, key=lambda record: hashlib.sha256(record.file_name.encode()).digest())[:10]
    assert validation == set(lowest)
    assert held_out(tuple(reversed(many)), 0.2) == validation
    assert len(validation & held_out((*many, *records("50.jpg", "51.jpg")), 0.2)) >= 8
    assert len(held_out(records("a", "b"), 0.1)) == 1
    assert len(held_out(records("a"), 0.5)) == 0


def test_the_datas_own_splits_are_taken() -> None:
    both = records("a", "b", split="train") + records("c", split="Valid") + records("d", split="test")
    dataset = Dataset("x", "coco", both, ("one",))
    parts = dataset_setup._split_off_validation(dataset, None)
    assert [record.id for record in parts.train.records] == ["a", "b"]
    assert [record.id for record in parts.validation.records] == ["c"]
    assert parts.notes == "validates on the data's own split 'Valid'"
    alone = dataset_setup._split_off_validation(replace(dataset, records=records("a", "b", "c")), None)
    assert len(alone.validation.records) == 1
    with pytest.raises(HoldfastError, match="no image is left"):
        dataset_setup._split_off_validation(replace(dataset, records=records("a")), None)


def test_the_folder_valid_beside_train_is_validated_on(tmp_path: Path) -> None:
    for folder, classes in (("train", "cell"), ("valid", "cell"), ("test", "cell")):
        for number in range(4 if folder == "train" else 2):
            file = tmp_path / folder / f"{folder}{number}.jpg"
            file.parent.mkdir(exist_ok=True)
            file.write_bytes(made.image(seed=number))
            file.with_suffix(".xml").write_text(
                made.voc_xml(file.name, (64, 48), [(classes, 16, 12, 48, 36)])
            )

    def parts(**data: Any) -> tuple[int, int, str]:
        given = {"train": str(tmp_path / "train"), **data}
        found = dataset_setup.load_splits(settings.resolve({"data": given}, []))
        return len(found.train.records), len(found.validation.records), found.notes

    assert parts()[:2] == (4, 2)
    assert parts()[2].startswith("validates on the folder 'valid' beside 'train'")
    assert parts(train=str(tmp_path))[:2] == (4, 2)
    assert parts(validation_fraction=0.5)[:2] == (2, 2)
    for file in (tmp_path / "valid").glob("*.xml"):  # another dataset's, which happens to lie there
        file.write_text(file.read_text().replace("cell", "dog"))
    assert parts()[:2] == (3, 1)
