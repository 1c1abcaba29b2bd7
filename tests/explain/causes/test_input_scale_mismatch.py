"""Inputs that nothing scales, and one value far beyond the others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from holdfast.explain import Strength
from holdfast.journal import events as ev
from tests.explain.broken_numbers import ORDINARY, broken_loop
from tests.explain.learning_runs import IDS, dense, trained, values
from tests.explain.made import Run, facts, remedies

_IMAGES = [[[None, 32, 32, 3], "float32"], [[None], "int64"]]


def _trained(run: Run, losses: list[float], *layers: str, high: float = 255.0, spec: object = None) -> None:
    values = {"x": {"min": 0.0, "max": high, "finite": True}}
    run.fit(
        epochs=5, data=ev.DatasetSeen(type="array", cardinality=100, statistics=values, element_spec=spec)
    )
    kinds = dict.fromkeys(("Conv2D", "Dense", *layers), 1)
    run.probe(ev.ModelSeen(parameters=1000, trainable_parameters=1000, layer_kinds=kinds))
    run.epochs([100] * 5, losses)
    run.ended(0)


def example(run: Run) -> None:
    _trained(run, [2.3, 2.31, 2.3, 2.3, 2.3])


def near_miss(run: Run) -> None:
    _trained(run, [2.3, 2.31, 2.3, 2.3, 2.3], "Rescaling")


def test_pixels_and_a_loss_that_does_not_fall(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    first = run.first()
    assert (first.title.values, first.ends) == ({"high": 255.0}, False)
    assert facts(first)["inputs.range"] == {"low": 0.0, "high": 255.0, "pixels": True}
    assert facts(first)["loss.course"] == {"first": 2.3, "last": 2.3}
    assert remedies(first) == ["model.scale-inputs", "model.use-its-preprocessing"]


def test_a_loss_that_exploded_first_and_is_flat_since(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    _trained(run, [441679808.0, 0.6927, 0.6918, 0.6916, 0.6914], high=187.0, spec=_IMAGES[:1])
    assert (run.first().cause, run.first().strength) == ("input-scale-mismatch", Strength.SUPPORTED)
    assert facts(run.first())["loss.course"] == {"first": 0.6927, "last": 0.6914}


def test_a_loss_that_calms_down_for_an_epoch_ends_at_that_of_a_constant_answer(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    pixels = {"x": {"min": 0.0, "max": 187.0, "finite": True}}
    run.probe(ev.ModelSeen(parameters=100, trainable_parameters=100, layer_kinds={"Conv2D": 2, "Dense": 2}))
    run.probe(values("target", **IDS), dense("softmax", 2, "sparse_categorical_crossentropy"))
    run.fit(
        epochs=5,
        data=ev.DatasetSeen(type="array", cardinality=100, statistics=pixels, element_spec=_IMAGES),
    )
    run.epochs([100] * 5, [7.7e13, 2.11, 0.6937, 0.6934, 0.6933])
    run.ended(0)
    assert (run.first().cause, run.first().strength) == ("input-scale-mismatch", Strength.SUPPORTED)
    assert facts(run.first())["training.course"]["last"] == 0.6933


def test_a_loop_that_exploded_in_its_first_steps(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.probe(ev.ModelSeen(name="net", layer_kinds={"Conv2D": 2, "Dense": 2}, parameters=400))
    run.probe(
        ev.BatchSeen(role="train", step=1, parts=[{"shape": [16, 32, 32, 3], "min": 0.0, "max": 187.0}])
    )
    losses = [25.2, 2.7e7, 2.1e13, 1.4e23, *([0.674, 0.713, 0.688, 0.701, 0.69] * 5)]
    for step, loss in enumerate(losses, start=1):
        run.probe(ev.LossSeen(step=step, epoch=0, logs={"loss": loss}, step_loss=loss))
    run.ended(0)
    assert (run.first().cause, run.first().strength) == ("input-scale-mismatch", Strength.SUPPORTED)


@pytest.mark.parametrize(("high", "dtype", "strength"), [
    (236.0, "int64", Strength.POSSIBLE),
    (2707.0, "int32", Strength.POSSIBLE),
    (236.0, "float32", Strength.POSSIBLE),
    (2707.0, "float32", Strength.SUPPORTED),
])  # fmt: skip
def test_one_whole_number_for_each_example_may_be_an_index(
    tmp_path: Path, high: float, dtype: str, strength: Strength
) -> None:
    """A graph network is given the numbers of the nodes, and looks them up; its class does not say so."""
    run = Run(tmp_path / "run")
    _trained(run, [2.01, 1.92, 1.9, 1.9, 1.89], high=high, spec=[[[None], dtype], [[None], "int64"]])
    assert (run.first().cause, run.first().strength) == ("input-scale-mismatch", strength)


def test_a_table_that_reaches_65_is_not_taken_for_pixels(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    values = {"min": -60.2, "max": 65.1, "finite": True}
    run.fit(steps=20, data=ev.DatasetSeen(type="array", cardinality=20, statistics={"x": values},
                                element_spec=[[[None, 12], "float32"]]))  # fmt: skip
    run.probe(
        ev.ModelSeen(parameters=600, trainable_parameters=600, layer_kinds={"Dense": 2}),
        ev.NonFiniteSeen(
            what="loss", name="loss", step=1, value="nan", input_finite=True, precision="float32"
        ),
    )
    run.epochs([20, 20, 20], [float("nan")] * 3)
    run.ended(0)
    assert run.blamed() == ["loss-not-finite"]
    assert "loss.broken-at-first-step" in facts(run.first())
    scale = [one for one in run.verdict().findings if one.cause == "input-scale-mismatch"]
    assert not any(facts(one)["inputs.range"]["pixels"] for one in scale)


@pytest.mark.parametrize(
    ("precision", "first"),
    [
        ("float32", "input-scale-mismatch"),
        ("float16", "half-precision-overflow"),
        ("bfloat16", "input-scale-mismatch"),
    ],
)
def test_pixels_that_overflow_float16_are_not_blamed_on_their_scale(
    tmp_path: Path, precision: str, first: str
) -> None:
    run = Run(tmp_path / "run")
    kinds = {"Conv2D": 2, "Dense": 1}
    run.probe(
        ev.ModelSeen(layer_kinds=kinds, trainable_parameters=5, trainable_variables=2, precision=precision)
    )
    statistics = {"x": {"min": 0.0, "max": 255.0, "finite": True}}
    run.fit(data=ev.DatasetSeen(type="array", element_spec=_IMAGES, statistics=statistics, cardinality=100))
    run.probe(
        ev.NonFiniteSeen(what="weights", name="conv2d/kernel", step=1, value="nan", precision=precision)
    )
    run.epochs([100, 100, 100], [float("nan")] * 3)
    run.ended(0)
    assert (run.first().cause, run.first().strength) == (first, Strength.SUPPORTED)


def test_the_value_far_beyond_the_others_is_named(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    part = {"path": "x", "far": 9.9e11, "usual": 0.99, "row": 3, "shape": [32, 12]}
    broken_loop(run, [*ORDINARY, 5.7e23], part)
    first = run.first()
    assert run.slugs() == ["input-scale-mismatch"]
    assert (first.title.kind, first.strength) == ("input-scale-mismatch.outlier", Strength.SUPPORTED)
    values = first.title.values
    assert (values["value"], values["usual"], values["step"], values["row"]) == (9.9e11, 0.99, 41, 3)


def test_a_far_value_that_the_training_recovered_from_is_not_blamed(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.probe(ev.LoopSeen(by="train_on_batch", where="train.py:12"))
    run.probe(ev.BatchSeen(step=41, parts=[{"path": "y", "far": 1e6, "usual": 1.0, "row": 0}]))
    losses = [*ORDINARY, 900.0, *ORDINARY]
    run.probe(*(ev.LossSeen(step=step, logs={"loss": loss}) for step, loss in enumerate(losses)))
    run.ended(0)
    assert [one.strength for one in run.verdict().findings] == [Strength.POSSIBLE]


@pytest.mark.parametrize(
    ("scales", "accuracy", "found"),
    [
        ([0.2, 1.0, 9000.0], 0.5, True),
        ([0.2, 1.0, 9000.0], 0.9, False),
        ([20.0, 300.0, 900.0], 0.5, False),
        ([0.001, 1.0, 5.0], 0.5, False),
    ],
)
def test_columns_of_different_scales(
    tmp_path: Path, scales: list[float], accuracy: float, found: bool
) -> None:
    run = Run(tmp_path / "run")
    losses = [0.7, 0.69, 0.69, 0.69, 0.69, 0.69]
    trained(run, dense("sigmoid"), IDS, losses, accuracy=[accuracy] * 6, inputs={"column_scales": scales})
    kinds = [(one.title.kind, one.strength) for one in run.verdict().findings]
    assert (("input-scale-mismatch.columns", Strength.SUPPORTED) in kinds) is found
    if found:
        assert remedies(run.first()) == ["inputs.standardise", "model.normalise-inputs"]
        assert facts(run.first())["inputs.column-scales"]["largest"] == 9000.0


def _policy(run: Run, high: float, stuck: float, *, first: str = "tanh", step: int = 256) -> None:
    """A loop whose loss says nothing: that of a policy."""
    layers = [{"name": "tanh 1", "activation": "tanh", "units": 64, "stuck": stuck, "saturated": stuck}]
    layers = layers if first == "tanh" else [{"name": "relu 1", "activation": "relu", "zero": 0.1}, *layers]
    run.probe(
        ev.LoopSeen(by="torch_optimizer", where="train.py:40"),
        ev.ValuesSeen(role="input", rows=640, shape=[3], min=-2.0, max=high, columns=3),
    )
    for number in range(1, 300):
        run.probe(ev.LossSeen(step=number, logs={"loss": 3.0 + number % 5 - number / 200}))
    run.probe(ev.LayersMeasured(step=step, reason="loop", rows=40, activations=layers))
    run.ended(0)


@pytest.mark.parametrize(
    ("high", "stuck", "more", "found"),
    [
        (101_325.0, 1.0, {}, True),
        (101_325.0, 0.4, {}, False),  # a part of them tells rows apart
        (12.0, 1.0, {}, False),  # saturated for another reason
        (101_325.0, 1.0, {"first": "relu"}, False),  # what comes before it was not looked at
        (101_325.0, 1.0, {"step": 8}, False),
    ],
)
def test_inputs_that_put_the_first_activation_at_its_limits(
    tmp_path: Path, high: float, stuck: float, more: dict[str, Any], found: bool
) -> None:
    run = Run(tmp_path / "run")
    _policy(run, high, stuck, **more)
    assert ("input-scale-mismatch" in run.blamed()) is found
