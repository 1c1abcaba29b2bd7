"""Recipes: what is read, what is refused and in which words, and what is written."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast import settings
from holdfast.errors import HoldfastError
from holdfast.report.text import render_error
from holdfast.settings.read import line_of, resolve
from holdfast.settings.recipe import toml_value

GOOD = """\
[data]
train = "data/train"
validation_fraction = 0.2

[train]
batch = 8
learning_rate = 1
checkpoint_every = "10min"
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "recipe.toml"
    path.write_text(text)
    return path


def test_what_is_given_is_taken_and_the_rest_is_default(tmp_path: Path) -> None:
    recipe = settings.read(write(tmp_path, GOOD), ["model.detector=retinanet", "train.micro_batch=4"])
    assert recipe.data.train == "data/train"
    assert recipe.data.validation_fraction == 0.2
    assert recipe.train.batch == 8
    assert recipe.train.learning_rate == 1.0
    assert isinstance(recipe.train.learning_rate, float)
    assert recipe.train.checkpoint_every == "10min"
    assert recipe.train.steps == 2000
    assert recipe.train.micro_batch == 4
    assert recipe.model.detector == "retinanet"
    assert recipe.hardware.processes == 1


def test_epochs_put_the_default_number_of_steps_aside() -> None:
    recipe = settings.resolve({"data": {"train": "x"}, "train": {"epochs": 3}})
    assert (recipe.train.steps, recipe.train.epochs) == (None, 3)


def test_an_override_of_nothing_leaves_the_setting_out() -> None:
    tables = {"data": {"train": "t"}, "model": {"weights": "imagenet"}, "train": {"batch": 4}}
    recipe = settings.resolve(tables, ["model.weights=", "train.batch="])
    assert recipe.model.weights is None
    assert recipe.train.batch == 16
    assert tables["model"] == {"weights": "imagenet"}


def test_of_two_that_exclude_each_other_the_one_on_the_command_line_counts() -> None:
    """So that a run of epochs can be resumed for more steps, as it says itself."""
    epochs = {"data": {"train": "x"}, "train": {"epochs": 5}}
    assert resolve(epochs, ["train.steps=900"]).train.steps == 900
    assert resolve(epochs, ["train.steps=900"]).train.epochs is None
    steps = {"data": {"train": "x"}, "train": {"steps": 40}}
    assert (
        resolve(steps, ["train.epochs=2"]).train.steps,
        resolve(steps, ["train.epochs=2"]).train.epochs,
    ) == (None, 2)
    assert resolve(steps, ["train.epochs="]).train.steps == 40


def test_overrides_are_read_as_toml_and_a_bare_word_is_text() -> None:
    recipe = settings.resolve(
        {}, ["data.train=a b.csv", 'data.classes=["x", "y"]', "train.deterministic=true"]
    )
    assert recipe.data.train == "a b.csv"
    assert recipe.data.classes == ["x", "y"]
    assert recipe.train.deterministic is True


def test_the_resolved_recipe_can_be_run_again(tmp_path: Path) -> None:
    recipe = settings.read(write(tmp_path, GOOD), ['data.classes=["naïve", "q\\"uote"]'])
    again = settings.read(write(tmp_path, settings.to_toml(recipe)))
    assert again == recipe


def test_the_example_is_a_recipe_at_its_defaults(tmp_path: Path) -> None:
    recipe = settings.read(write(tmp_path, settings.example()))
    assert recipe == settings.resolve({"data": {"train": "data/train"}})
    uncommented = "\n".join(line.removeprefix("# ") for line in settings.example().splitlines()[1:])
    assert set(tomllib.loads(uncommented)) == {"data", "model", "train", "hardware"}


@given(
    st.text()
    | st.lists(st.text())
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
)
def test_every_value_written_is_read_back(value: object) -> None:
    assert tomllib.loads(f"v = {toml_value(value)}")["v"] == value


MISTAKES = {
    "unknown-key": ('[data]\ntrain = "x"\n[train]\nbacth = 4\n', []),
    "unknown-key-of-another-table": ('[data]\ntrain = "x"\nbatch = 4\n', []),
    "unknown-table": ('[data]\ntrain = "x"\n\n[trian]\nbatch = 4\n', []),
    "unknown-override": (GOOD, ["train.bacth=4"]),
    "nothing-near": ('[data]\ntrain = "x"\nzzzqqq = 4\n', []),
    "wrong-type": ('[data]\ntrain = "x"\n[train]\nbatch = "many"\n', []),
    "wrong-type-bool": ('[data]\ntrain = "x"\n[train]\nbatch = true\n', []),
    "wrong-type-list": ('[data]\ntrain = "x"\nclasses = [1, 2]\n', []),
    "table-is-value": ("data = 3\n", []),
    "out-of-range": ('[data]\ntrain = "x"\n[train]\nbatch = 0\n', []),
    "out-of-range-open": ('[data]\ntrain = "x"\n[train]\nlearning_rate = 0.0\n', []),
    "not-a-number": ('[data]\ntrain = "x"\n[train]\nlearning_rate = nan\n', []),
    "unknown-choice": ('[data]\ntrain = "x"\n[model]\ndetector = "retinanett"\n', []),
    "unknown-choice-nothing-near": ('[data]\ntrain = "x"\n[model]\ndetector = "q"\n', []),
    "not-a-span": ('[data]\ntrain = "x"\n[train]\ncheckpoint_every = "often"\n', []),
    "empty-text": ('[data]\ntrain = ""\n', []),
    "missing": ("[train]\nbatch = 4\n", []),
    "both-of-a-pair": ('[data]\ntrain = "x"\n[train]\nsteps = 4\nepochs = 5\n', []),
    "both-of-a-pair-by-override": (GOOD, ["data.validation=v", "data.validation_fraction=0.2"]),
    "batch-not-divided": ('[data]\ntrain = "x"\n[train]\nbatch = 12\nmicro_batch = 5\n', []),
    "batch-not-shared": ('[data]\ntrain = "x"\n[train]\nbatch = 16\n[hardware]\nprocesses = 3\n', []),
    "class-twice": ('[data]\ntrain = "x"\nclasses = ["a", "b", "a"]\n', []),
    "not-toml": ("[data]\ntrain = data/train\n", []),
    "not-toml-at-the-end": ('[data]\ntrain = "x', []),
    "override-without-value": (GOOD, ["train.batch"]),
    "override-without-table": (GOOD, ["batch=4"]),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_answered_with_its_key_its_line_and_the_cure(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stored: Callable[[str, str], None]
) -> None:
    text, overrides = MISTAKES[name]
    monkeypatch.chdir(tmp_path)
    write(tmp_path, text)
    with pytest.raises(HoldfastError) as caught:
        settings.read("recipe.toml", overrides)
    assert caught.value.exit_code == 2
    stored(f"settings/{name}", render_error(caught.value))


def test_a_file_that_is_no_recipe(tmp_path: Path) -> None:
    with pytest.raises(HoldfastError, match="is a folder") as caught:
        settings.read(tmp_path)
    assert caught.value.slug == "not-a-file"
    (tmp_path / "recipe.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(HoldfastError, match="UTF-8") as caught:
        settings.read(tmp_path / "recipe.toml")
    assert caught.value.slug == "recipe-not-toml"
    with pytest.raises(HoldfastError) as caught:
        settings.read(tmp_path / "recipes.toml")
    assert caught.value.found == ("in the same folder is recipe.toml",)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_recipe_without_permission(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD)
    path.chmod(0)
    with pytest.raises(HoldfastError) as caught:
        settings.read(path)
    assert caught.value.slug == "permission-denied"


@pytest.mark.parametrize(
    ("text", "key", "line"),
    [
        ("[train]\n\nbatch = 1\n", "train.batch", 3),
        ("[data]\nbatch = 0\n[train]\nbatch = 1\n", "train.batch", 4),
        ("train.batch = 1\n", "train.batch", 1),
        ("# x\ntrain = {seed = 2, batch = 1}\n", "train.batch", 2),
        ("[train]\nseed = 1\n", "train.batch", None),
        ("[train]\nseed = 1\n", "train", 1),
    ],
)
def test_the_line_of_a_key(text: str, key: str, line: int | None) -> None:
    assert line_of(text, key) == line
