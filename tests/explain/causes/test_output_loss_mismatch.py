"""The last activation against the loss."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from holdfast.explain import Strength
from holdfast.journal import events as ev
from tests.explain.learning_runs import FALLING, FLAT, IDS, ONE_HOT, dense, trained, values
from tests.explain.made import Run, code_of, facts, remedies, title_of

_SPARSE, _CATEGORICAL = "sparse_categorical_crossentropy", "categorical_crossentropy"
_BINARY = ["binary_accuracy"]


def example(run: Run) -> None:
    trained(run, dense("softmax"), IDS, FLAT, accuracy=[0.5] * 6)


def near_miss(run: Run) -> None:
    trained(run, dense("sigmoid"), IDS, FLAT, accuracy=[0.5] * 6)


def test_one_unit_is_arithmetic_whatever_the_loss_did(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    trained(run, dense("softmax"), IDS, FALLING)
    first = run.first()
    assert (first.cause, first.strength) == ("output-loss-mismatch", Strength.ESTABLISHED)
    assert (
        title_of(first)
        == 'Dense(1, activation="softmax") is 1.0 for every input: a softmax over one unit (train.py:12)'
    )
    assert facts(first)["targets.seen"]["distinct"] == 2
    assert remedies(first) == ["output.sigmoid-for-two"]


@pytest.mark.parametrize(
    ("output", "target", "losses", "variant", "strength"),
    [
        (dense("linear"), IDS, FLAT, "not-probabilities", Strength.SUPPORTED),
        (dense("linear"), IDS, FALLING, "not-probabilities", Strength.POSSIBLE),
        (dense("relu", 3, _CATEGORICAL), ONE_HOT, [1.1] * 6, "not-probabilities", Strength.SUPPORTED),
        (dense("sigmoid", 3, _CATEGORICAL), ONE_HOT, [1.1] * 6, "sigmoid-for-exclusive", Strength.SUPPORTED),
        (dense("sigmoid", 3, _CATEGORICAL), ONE_HOT, [1.1, 0.5, 0.2], "sigmoid-for-exclusive", Strength.POSSIBLE),
        (dense("softmax", 2, _SPARSE, from_logits=True), IDS, FLAT, "twice", Strength.SUPPORTED),
        (dense("sigmoid", 1, _CATEGORICAL), IDS, [0.0] * 3, "categorical-of-one", Strength.ESTABLISHED),
        (dense("softmax", 3, metrics=_BINARY), ONE_HOT, [0.637] * 6, "softmax-with-binary", Strength.SUPPORTED),
        (dense("sigmoid", 3, metrics=_BINARY), ONE_HOT, [0.637] * 6, "binary-for-exclusive", Strength.SUPPORTED),
    ],
)  # fmt: skip
def test_pairs_that_do_not_fit(
    tmp_path: Path,
    output: ev.OutputSeen,
    target: dict[str, Any],
    losses: list[float],
    variant: str,
    strength: Strength,
) -> None:
    run = Run(tmp_path / "run")
    trained(run, output, target, losses)
    found = [one for one in run.verdict().findings if one.cause == "output-loss-mismatch"]
    assert [(one.title.kind, one.strength) for one in found] == [
        (f"output-loss-mismatch.{variant}", strength)
    ]


@pytest.mark.parametrize(
    ("output", "target"),
    [
        (dense("linear", from_logits=True), IDS),
        (dense("softmax", 3, _CATEGORICAL), ONE_HOT),
        (dense("linear", 1, "mean_squared_error"), IDS),
        (dense("exponential", 3, _CATEGORICAL), ONE_HOT),
        (dense("", 3, _CATEGORICAL), ONE_HOT),
        (dense("linear", own_loss=True, loss="my_loss", from_logits=None), IDS),
        (dense("sigmoid", 3), {**ONE_HOT, "one_hot": False, "sums_to_one": False}),
        (dense("softmax", 3, _SPARSE, from_logits=True, reads_behind=True), IDS),
    ],
)  # fmt: skip
def test_pairs_that_fit_are_not_found_however_flat_the_loss(
    tmp_path: Path, output: ev.OutputSeen, target: dict[str, Any]
) -> None:
    run = Run(tmp_path / "run")
    trained(run, output, target, FLAT)
    assert "output-loss-mismatch" not in run.slugs()


def test_an_autoencoder_of_rows_with_one_1_is_left_alone(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    trained(run, dense("sigmoid", 3), ONE_HOT, [0.637] * 6, inputs={"shape": [3]})
    assert "output-loss-mismatch" not in run.slugs()


def test_two_units_and_one_label_are_refused(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.probe(values("target", **IDS), dense("softmax", 2))
    run.fit(epochs=3)
    run.raised("ValueError", "Arguments `target` and `output` must have the same shape.")
    first = run.first()
    assert (first.title.kind, first.ends) == ("output-loss-mismatch.softmax-with-binary", True)
    assert code_of(first.remedies[0]) == 'loss="sparse_categorical_crossentropy"'


@pytest.mark.parametrize(("losses", "found"), [([1.1] * 4, True), ([1.1, 0.6, 0.3, 0.2], False)])
def test_a_relu_before_the_softmax(tmp_path: Path, losses: list[float], found: bool) -> None:
    run = Run(tmp_path / "run")
    rows = [{"name": "dense_1", "kind": "Dense", "units": 3, "activation": "relu"}]
    output = dense("softmax", 3, _CATEGORICAL)
    trained(run, output, ONE_HOT, losses, more=(ev.LayersSeen(layers=rows, layers_in_all=1),))
    kinds = [one.title.kind for one in run.verdict().findings]
    assert ("output-loss-mismatch.cut-before" in kinds) is found


def test_the_sigmoid_of_a_last_convolution_is_its_own(tmp_path: Path) -> None:
    """As in keras.io's autoencoder: no other activation comes before it."""
    run = Run(tmp_path / "run")
    rows = [{"name": "dense_1", "kind": "Conv2D", "units": 1, "activation": "sigmoid"}]
    images = {"shape": [28, 28, 1], "min": 0.0, "max": 1.0}
    output = dense("sigmoid", 1, "binary_crossentropy")
    trained(run, output, images, [0.693] * 4, more=(ev.LayersSeen(layers=rows, layers_in_all=1),))
    assert "output-loss-mismatch" not in run.slugs()


_ASSERT = (
    "/pytorch/aten/src/ATen/native/cuda/Loss.cu:90: operator(): block: [0,0,0], thread: [127,0,0] Assertion "
    "`input_val >= zero && input_val <= one` failed.\n"
)


@pytest.mark.parametrize(
    ("activation", "printed", "message", "found"),
    [
        ("linear", _ASSERT, "CUDA error: device-side assert triggered", True),
        ("linear", "", "all elements of input should be between 0 and 1", True),
        ("sigmoid", _ASSERT, "CUDA error: device-side assert triggered", False),  # NaN, which fails it too
        ("linear", "", "CUDA error: device-side assert triggered", False),  # some other kernel's
    ],
)
def test_torch_refuses_values_that_are_no_probabilities(
    tmp_path: Path, activation: str, printed: str, message: str, found: bool
) -> None:
    run = Run(tmp_path / "run")
    run.probe(
        ev.OutputSeen(by="call", layer="Addmm", units=6, activation=activation, loss="binary_crossentropy",
                      from_logits=False, where="train.py:54", loss_where="train.py:54"),
        ev.ExceptionRaised(type="AcceleratorError", message=message, left="script", process="main",
                           user_line="train.py:56", user_code="loss.backward()", frames=["train.py:56 train_epoch"]),
    )  # fmt: skip
    run.output(printed + f"Traceback (most recent call last):\nAcceleratorError: {message}\n")
    run.ended(1)
    first = run.first()
    assert (first.cause == "output-loss-mismatch" and first.strength is Strength.ESTABLISHED) is found


@pytest.mark.parametrize(("step", "strength"), [(0, Strength.SUPPORTED), (40, Strength.POSSIBLE)])
def test_torch_refuses_raw_scores_before_there_is_a_loss(
    tmp_path: Path, step: int, strength: Strength
) -> None:
    run = Run(tmp_path / "run")
    message = "all elements of input should be between 0 and 1"
    run.samples(2, phase="between", step=step)
    run.probe(
        ev.ExceptionRaised(
            type="RuntimeError", message=message, left="script", process="main", user_line="train.py:25",
            user_code="loss = F.binary_cross_entropy(net(x), y)", frames=["train.py:25 <module>"],
        )
    )  # fmt: skip
    run.ended(1)
    found = [one.strength for one in run.verdict().findings if one.cause == "output-loss-mismatch"]
    assert found == [strength]
