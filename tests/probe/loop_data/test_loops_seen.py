"""Loops that pass slices of arrays: what they are fed, what they compare and what their layers give is recorded, and
the numbers that they print are the ones without Holdfast."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.journal.events import (
    BatchSeen,
    DependenceSeen,
    LayersMeasured,
    LayersSeen,
    LossSeen,
    OutputSeen,
    ProbeFailed,
    ValuesSeen,
    WeightsMoved,
)

from ..probed import SCRIPTS, Run, run

pytestmark = pytest.mark.hot
NUMBERS = {"TF_CPP_MIN_LOG_LEVEL": "3", "JAX_PLATFORMS": "cpu"}


def _both(script: str, tmp_path: Path, *arguments: str) -> Run:
    bare = run(SCRIPTS / script, *arguments, folder=tmp_path / "none", cwd=SCRIPTS, probe=False, **NUMBERS)
    seen = run(SCRIPTS / script, *arguments, folder=tmp_path / "run", cwd=SCRIPTS, **NUMBERS)
    assert bare.code == seen.code == 0, seen.output
    assert bare.output.splitlines()[-1] == seen.output.splitlines()[-1]  # losses and weights to the last bit
    assert seen.all(ProbeFailed) == []
    return seen


def _values(seen: Run, role: str) -> ValuesSeen:
    return next(one for one in seen.all(ValuesSeen) if one.role == role)


@pytest.mark.parametrize("mode", ["traced", "eager"])
def test_a_tape_over_slices_of_arrays(mode: str, tmp_path: Path) -> None:
    seen = _both("tape_slices.py", tmp_path, mode)
    output = seen.one(OutputSeen)
    assert (output.loss, output.activation, output.units) == ("mean_squared_error", "sigmoid", 1)
    assert output.prediction_shape == [25, 1]
    inputs, target = _values(seen, "input"), _values(seen, "target")
    assert (inputs.shape, target.shape) == ([3], [1])  # the labels come first among the arguments
    assert target.min is not None and target.min >= 10
    assert seen.one(LayersSeen).layers_in_all == 2
    assert seen.one(DependenceSeen).agreement > 0.3
    assert max(one.step for one in seen.all(LossSeen)) == 120  # the last steps, though no second has passed
    if mode == "eager":
        measured = seen.all(LayersMeasured)[-1]
        assert [one["activation"] for one in measured.activations] == ["relu", "sigmoid"]
        assert [one["name"] for one in measured.gradients] == ["kernel", "kernel"]


def test_a_torch_loop_over_slices(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    seen = _both("torch_slices.py", tmp_path)
    assert _values(seen, "input").shape == [6]
    assert _values(seen, "target").class_count == 3
    measured = seen.one(LayersMeasured)
    assert [one["activation"] for one in measured.activations] == ["relu", "sigmoid"]  # from the input on
    assert len(measured.gradients) == 3
    assert seen.one(DependenceSeen).of == "classes"


def test_a_jitted_step(tmp_path: Path) -> None:
    seen = _both("jitted_step.py", tmp_path)
    output = seen.one(OutputSeen)
    assert (output.loss, output.from_logits, output.activation, output.units) == (
        "sparse_categorical_crossentropy", True, "softmax", 4,
    )  # fmt: skip
    assert _values(seen, "input").shape == [5]
    assert _values(seen, "target").class_count == 4
    moved = [one for one in seen.all(WeightsMoved) if one.since == "start"]
    assert [one["layer"] for one in moved[-1].variables] == ["a", "b", "c"]
    assert moved[-1].step >= 30
    assert "the loss was traced 1 times" in seen.output


def test_a_value_that_is_no_number_in_the_data_of_a_torch_loop(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    seen = _both("torch_nan.py", tmp_path)
    batch = seen.one(BatchSeen)
    assert batch.step == 11
    assert batch.parts[0]["finite"] is False and batch.parts[0]["row"] == 2
