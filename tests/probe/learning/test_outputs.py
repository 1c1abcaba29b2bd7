"""What a loss compares, read from real models."""

from __future__ import annotations

import gc
from types import SimpleNamespace
from typing import Any

import pytest

from holdfast.journal.events import OutputSeen
from holdfast.probe.learning import layer_lines, outputs

pytestmark = [pytest.mark.hot, pytest.mark.long(30)]
keras = pytest.importorskip("keras")
layers = keras.layers


def _seen(model: Any, loss: Any, **more: Any) -> list[OutputSeen]:
    model.compile("adam", loss, **more)
    return outputs.outputs_seen(model, layer_lines.LayerLines(), 1, "train.py:9", {"": [None]})


def _one(*stack: Any, loss: Any = "mse") -> OutputSeen:
    model = keras.Sequential([keras.Input((6,)), *stack])
    (seen,) = _seen(model, loss)
    return seen


@pytest.mark.parametrize(
    ("stack", "layer", "units", "activation"),
    [
        (lambda: [layers.Dense(3, activation="softmax")], "Dense", 3, "softmax"),
        (lambda: [layers.Dense(3)], "Dense", 3, "linear"),
        (lambda: [layers.Dense(3), layers.Activation("tanh")], "Dense", 3, "tanh"),
        (lambda: [layers.Dense(3), layers.Softmax()], "Dense", 3, "softmax"),
        (lambda: [layers.Dense(3, activation="relu"), layers.Dropout(0.5)], "Dense", 3, "relu"),
        (lambda: [layers.Dense(6, activation="sigmoid"), layers.Reshape((2, 3))], "Dense", 3, "sigmoid"),
        (lambda: [layers.Dense(3, activation=lambda x: x * 2)], "Dense", 3, ""),
        (lambda: [layers.Dense(3), layers.LeakyReLU()], "Dense", 3, "leaky_relu"),
        (lambda: [layers.Dense(3, activation="relu"), layers.BatchNormalization()], "BatchNormalization", 3, "linear"),
        (lambda: [layers.Reshape((3, 2)), layers.LSTM(4)], "LSTM", 4, "tanh"),
        (lambda: [layers.Dense(3), layers.Lambda(lambda x: x * 2)], "Lambda", 3, ""),
    ],
)  # fmt: skip
def test_the_layer_and_the_last_activation(stack: Any, layer: str, units: int, activation: str) -> None:
    seen = _one(*stack())
    assert (seen.layer, seen.units, seen.activation) == (layer, units, activation)
    assert (seen.loss_where, seen.target_shape, seen.by) == ("train.py:9", [None], "compile")


@pytest.mark.parametrize(
    ("loss", "name", "from_logits"),
    [
        ("mse", "mean_squared_error", None),
        ("sparse_categorical_crossentropy", "sparse_categorical_crossentropy", False),
        (
            lambda: keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            "sparse_categorical_crossentropy",
            True,
        ),
        (lambda: keras.losses.binary_crossentropy, "binary_crossentropy", False),
        (lambda: keras.losses.Huber(), "huber", None),
    ],
)
def test_the_loss(loss: Any, name: str, from_logits: bool | None) -> None:
    seen = _one(layers.Dense(3), loss=loss() if callable(loss) else loss)
    assert (seen.loss, seen.own_loss, seen.from_logits) == (name, False, from_logits)


def test_a_loss_of_the_users_own() -> None:
    seen = _one(layers.Dense(3), loss=lambda wanted, answered: answered)
    assert (seen.own_loss, seen.from_logits) == (True, None)


def test_logits_that_the_loss_reads_behind() -> None:
    """Only of what the activation itself gave, and only where the backend's loss looks for it."""
    on_tensorflow = keras.backend.backend() == "tensorflow"
    loss = "binary_crossentropy"
    assert _one(layers.Dense(1, activation="sigmoid"), loss=loss).reads_behind is on_tensorflow
    assert not _one(layers.Dense(6, activation="sigmoid"), layers.Reshape((2, 3)), loss=loss).reads_behind
    assert not _one(layers.Dense(1, activation="sigmoid"), loss="mse").reads_behind


def test_several_outputs_and_models_inside_of_models() -> None:
    rows = keras.Input((6,))
    inner = keras.Sequential(
        [keras.Input((6,)), layers.Dense(4, activation="relu"), layers.Dense(2, activation="tanh")]
    )
    model = keras.Model(rows, {"a": layers.Dense(3, activation="softmax", name="a")(rows), "b": inner(rows)})
    seen = {
        one.layer: one
        for one in _seen(model, {"a": "categorical_crossentropy", "b": "mse"})
        if one.units == 3
    }
    assert seen["Dense"].activation == "softmax" and seen["Dense"].output
    whole = keras.Sequential([keras.Input((6,)), inner])
    (last,) = _seen(whole, "mse")
    assert (last.activation, last.units, last.layer) == ("tanh", 2, "Dense")


def test_a_train_step_of_ones_own_leaves_the_compiled_loss_unknown() -> None:
    class Own(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.last = layers.Dense(1, activation="sigmoid")

        def call(self, rows: Any) -> Any:
            return self.last(rows)

        def train_step(self, data: Any) -> dict[str, Any]:
            return {}

    assert _seen(Own(), "mse") == []


def test_after_the_last_layer_of_a_subclass_anything_may_follow() -> None:
    class Linear(keras.Model):
        def __init__(self, activation: str | None) -> None:
            super().__init__()
            self.last = layers.Dense(1, activation=activation)

        def call(self, rows: Any) -> Any:
            return keras.ops.sigmoid(self.last(rows))

    (seen,) = _seen(Linear(None), "binary_crossentropy")
    assert (seen.activation, seen.layer) == ("", "")


def test_layers_with_what_they_were_given() -> None:
    model = keras.Sequential(
        [
            keras.Input((6,)),
            layers.Dense(
                4, "relu", kernel_initializer="zeros", kernel_regularizer=keras.regularizers.L2(0.5)
            ),
            layers.Dropout(0.3),
            layers.BatchNormalization(momentum=0.9),
        ]
    )
    seen = outputs.layers_seen(model, layer_lines.LayerLines())
    first, second, third = seen.layers
    assert (first["kind"], first["activation"], first["initializer"], first["penalty"]) == (
        "Dense", "relu", "Zeros", "L2(l2=0.5)",
    )  # fmt: skip
    assert (second["rate"], third["momentum"], seen.layers_in_all) == (0.3, 0.9, 3)


def test_lines_of_layers_are_forgotten_with_them() -> None:
    lines = layer_lines.LayerLines()
    layer = layers.Dense(3)
    lines.made(layer)
    assert lines.of(layer).rpartition("/")[2].startswith("test_outputs.py:")
    assert lines.of(SimpleNamespace()) == ""
    key = id(layer)
    del layer
    gc.collect()
    assert key not in lines._made


def test_the_layers_that_a_layer_takes_its_input_from() -> None:
    start = keras.Input((6,))
    body = layers.Dense(4, name="body")(start)
    heads = [layers.Dense(1, name=name)(body) for name in ("left", "right")]
    both = layers.Concatenate(name="both")(heads)
    rows = outputs.layers_seen(keras.Model(start, both), layer_lines.LayerLines()).layers
    assert {row["name"]: row.get("after") for row in rows} == {
        "body": None,  # the inputs of a model are no layer
        "left": ["body"],
        "right": ["body"],
        "both": ["left", "right"],
    }


class _Own(keras.losses.Loss):
    def call(self, y_true: Any, y_pred: Any) -> Any:
        return y_true - y_pred


def _own(y_true: Any, y_pred: Any) -> Any:
    return y_true - y_pred


def test_a_compiled_loss_of_the_users_own() -> None:
    for loss, computes in ((_own, _own), (_Own(), _Own.call), ("mse", None), (keras.losses.Huber(), None)):
        model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
        model.compile("sgd", loss)
        assert outputs.own_loss(model) is computes
