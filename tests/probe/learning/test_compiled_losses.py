"""Losses by the names under which all versions know them."""

from __future__ import annotations

import functools
from typing import Any

import pytest

from holdfast.probe.learning.compiled_losses import ReadLoss, canonical, losses_of, read_loss


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("mse", "mean_squared_error"),
        ("MSE", "mean_squared_error"),
        ("MeanSquaredError", "mean_squared_error"),
        ("bce", "binary_crossentropy"),
        ("BinaryCrossentropy", "binary_crossentropy"),
        ("SparseCategoricalCrossentropy", "sparse_categorical_crossentropy"),
        ("KLDivergence", "kl_divergence"),
        ("kld", "kl_divergence"),
        ("Huber", "huber"),
        ("LogCosh", "log_cosh"),
        ("logcosh", "log_cosh"),
        ("my_loss", ""),
    ],
)
def test_names(name: str, known: str) -> None:
    assert canonical(name) == known


def _like_keras(y_true: Any, y_pred: Any) -> Any:
    return y_true


def test_strings() -> None:
    assert read_loss("mae") == ReadLoss("mean_absolute_error", False, None)
    assert read_loss("binary_crossentropy") == ReadLoss("binary_crossentropy", False, False)
    assert read_loss("wasserstein") == ReadLoss("wasserstein", True, None)


def test_functions_of_the_user_are_own_whatever_they_are_called() -> None:
    def mean_squared_error(y_true: Any, y_pred: Any) -> Any:
        return y_true - y_pred

    assert read_loss(mean_squared_error) == ReadLoss("mean_squared_error", True, None)
    assert read_loss(lambda y_true, y_pred: 0.0).own


def test_objects_and_functions_of_a_library() -> None:
    function = _like_keras
    function.__module__, function.__name__ = "keras.src.losses.losses", "categorical_crossentropy"
    assert read_loss(function) == ReadLoss("categorical_crossentropy", False, False)
    told = functools.partial(function, from_logits=True)
    assert read_loss(told) == ReadLoss("categorical_crossentropy", False, True)
    kind = type("BinaryCrossentropy", (), {"__module__": "tf_keras.src.losses", "from_logits": True})
    assert read_loss(kind()) == ReadLoss("binary_crossentropy", False, True)
    own = type("BinaryCrossentropy", (), {"__module__": "__main__"})
    assert read_loss(own()).own


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("mse", ["mse", "mse"]),
        (["mse", "mae"], ["mse", "mae"]),
        ({"b": "mae"}, [None, "mae"]),
        (["mse"], ["mse", None]),
    ],
)
def test_the_loss_of_each_output(given: Any, found: list[Any]) -> None:
    model = type("Model", (), {"loss": given})()
    assert losses_of(model, ["a", "b"]) == found
