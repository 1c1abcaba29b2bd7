"""`holdfast plan` from the recipe to the answer, with the compiler's answers already in the cache."""

from __future__ import annotations

import json

import pytest

from holdfast.cli.main import main
from holdfast.memory.estimate import prediction_cache
from holdfast.memory.step_config import StepConfig
from tests.train import shapes

MIB = 2**20
RECIPE = """
[data]
train = "{data}"
augment = "light"
[model]
backbone = "vgg16"
input = 300
[train]
backend = "jax"
batch = 4
"""


def answer(batch, micro, *, compiled=True):
    """A hundred megabytes of weights, and two hundred for every image at once."""
    temp = (100 + 200 * micro) * MIB
    found = {
        "batch": batch, "micro_batch": micro, "weights": 100 * MIB, "moments": 200 * MIB, "average": 0, "fixed": 0,
        "state": 300 * MIB, "masks": 200 * MIB, "model": 100 * MIB, "variables": [25 * MIB] * 4,
        "liveness": {"temp_bytes": temp, "largest_bytes": MIB, "at": {"backbone/block1": temp}},
    }  # fmt: skip
    found["batch"] = batch * MIB
    if compiled:
        found["compiled"] = {
            "argument_bytes": 0,
            "output_bytes": 400 * MIB,
            "alias_bytes": 0,
            "temp_bytes": temp,
        }
    return found


@pytest.fixture
def recipe(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    asked = []

    def raw(config, batches, gpu, **_):
        asked.extend((config.label(), pair, gpu and gpu.slug) for pair in batches)
        return {"answers": [answer(*pair, compiled=gpu is not None) for pair in batches], "versions": {}}

    monkeypatch.setattr(prediction_cache, "run_worker", raw)
    shapes.write(tmp_path / "data", 12)
    path = tmp_path / "recipe.toml"
    path.write_text(RECIPE.format(data=tmp_path / "data"))
    return path, asked


def run(capsys, *words):
    code = main(["plan", *map(str, words)])
    return code, capsys.readouterr()


def test_it_fits_and_says_what_it_is_made_of(recipe, capsys):
    path, asked = recipe
    code, said = run(capsys, path, "--gpu", "h200", "--device-memory", "4GiB")
    assert code == 0
    first = said.out.splitlines()[0]
    # MiB: 3 states of 300, 100, 200, a batch of 4, 2 results of 100, temporaries of 900, 4 small, 600 beside the pool
    assert first.startswith("fits: micro-batches of 4 take 2.84 GiB")
    assert first.endswith("of 4.00 GiB on NVIDIA H200")
    assert "kept for the backward pass, backbone/block1  (estimated)" in said.out
    assert "3 classes" in said.out
    assert "host memory, about" in said.out
    assert [pair for _, pair, _ in asked] == [(4, 4)]
    assert {gpu for _, _, gpu in asked} == {"h200"}


def test_the_second_time_nothing_is_compiled(recipe, capsys):
    path, asked = recipe
    first = run(capsys, path, "--gpu", "h200", "--device-memory", "4GiB")[1].out
    count = len(asked)
    assert run(capsys, path, "--gpu", "h200", "--device-memory", "4GiB")[1].out == first
    assert len(asked) == count


def test_less_room_takes_smaller_micro_batches(recipe, capsys):
    path, _ = recipe
    code, said = run(capsys, path, "--gpu", "h200", "--device-memory", "2900MiB", "--json")
    found = json.loads(said.out)
    assert (code, found["answer"], found["micro_batch"], found["accumulate"]) == (0, "fits", 2, 2)
    assert found["changes"] == ["train.micro_batch = 2"]
    assert sum(line["bytes"] for line in found["lines"]) == found["total_bytes"]
    assert {line["known"] for line in found["lines"]} <= {"counted", "estimated", "measured"}


def test_no_room_at_all_is_exit_code_one_with_all_that_was_tried(recipe, capsys):
    path, _ = recipe
    code, said = run(capsys, path, "--gpu", "t4", "--device-memory", "1GiB", "--json")
    found = json.loads(said.out)
    assert (code, found["answer"]) == (1, "does-not-fit")
    assert [one["changes"][:1] for one in found["tried"][:2]] == [
        ["train.micro_batch = 1"],
        ['train.precision = "float16"'],
    ]
    assert any("datasheet" in note for note in found["notes"])


def test_without_the_wheels_it_falls_back_and_says_which_to_install(recipe, capsys, monkeypatch):
    path, _ = recipe
    usual = prediction_cache.run_worker

    def without(config, batches, gpu, **how):
        if gpu is not None:
            words = {"what": "this installation cannot compile", "where": "", "found": ["jax 9"]}
            change = ["pip install --no-deps jax-cuda13-plugin==9"]
            return {"error": {"error": "plan-extra-missing", **words, "change": change}}
        return usual(config, batches, gpu, **how)

    monkeypatch.setattr(prediction_cache, "run_worker", without)
    code, said = run(capsys, path, "--gpu", "h200", "--device-memory", "8GiB")
    assert code == 0
    assert "method: liveness of the traced step" in said.out
    assert "pip install --no-deps jax-cuda13-plugin==9" in said.out


def test_quick_asks_for_no_compilation_and_says_by_which_method(recipe, capsys):
    path, asked = recipe
    code, said = run(capsys, path, "--gpu", "h200", "--device-memory", "8GiB", "--quick")
    assert code == 0
    assert {gpu for _, _, gpu in asked} == {None}
    assert "method: liveness of the traced step" in said.out
    assert "not compiled for the GPU" not in said.out


def test_a_gpu_that_is_not_described_is_an_error_with_the_nearest(recipe, capsys):
    code, said = run(capsys, recipe[0], "--gpu", "rtx-4091")
    assert code == 2
    assert "rtx-4090" in said.err


def test_data_that_is_not_here_is_assumed_and_said(recipe, capsys):
    path, _ = recipe
    path.write_text(RECIPE.format(data="/nowhere/at/all"))
    code, said = run(capsys, path, "--device-memory", "16GiB")
    assert code == 0
    assert "assumed: 80 classes, at most 100 boxes in an image" in said.out
    assert "no GPU was named" in said.out


def test_the_key_of_an_answer_changes_with_what_decides_it():
    setup = StepConfig("ssd", "vgg16", 300, 3, 9, batch=4, micro_batch=4)
    memory = prediction_cache.PredictionCache()
    keys = {
        memory._key(one, pair, None)
        for one in (setup, setup.with_micro_batch(2))
        for pair in ((4, 4), (4, 2))
    }
    assert len(keys) == 2  # of one model: the batch alone is told apart by the pair
