"""The precision of a loop that shows no model."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from holdfast.probe.state import model_facts


def _loop(kind: str) -> model_facts.OptimizerModel:
    return model_facts.OptimizerModel(SimpleNamespace(_trainable_variables=[SimpleNamespace(dtype=kind)]))


@pytest.mark.parametrize(
    ("weights", "policy", "told"),
    [
        ("float16", "float32", "float16"),
        ("float32", "mixed_float16", "mixed_float16"),
        ("float32", "mixed_bfloat16", "mixed_bfloat16"),
        ("float32", "float32", "float32"),
    ],
)
def test_weights_first_then_what_was_set_for_all(
    monkeypatch: pytest.MonkeyPatch, weights: str, policy: str, told: str
) -> None:
    keras: Any = SimpleNamespace(config=SimpleNamespace(dtype_policy=lambda: SimpleNamespace(name=policy)))
    monkeypatch.setitem(sys.modules, "keras", keras)
    assert model_facts.precision(_loop(weights)) == told


def test_a_model_says_it_itself() -> None:
    model = SimpleNamespace(dtype_policy=SimpleNamespace(name="mixed_float16"))
    assert model_facts.precision(model) == "mixed_float16"
    assert model_facts.precision(SimpleNamespace()) == ""


def test_asking_an_optimizer_of_keras_2_creates_none_of_its_variables() -> None:
    """Created outside of the strategy's scope, they would be of no use to it."""
    legacy = pytest.importorskip("tf_keras").optimizers.legacy.SGD(learning_rate=0.25)
    model = SimpleNamespace(optimizer=legacy)
    assert (model_facts.iterations(model), model_facts.learning_rate(model)) == (0, 0.25)
    assert legacy.variables() == []
