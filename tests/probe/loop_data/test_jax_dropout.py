"""The rates of dropout in a traced program."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.probe.loop_data import jax_dropout

jax: Any = pytest.importorskip("jax")
pytestmark = pytest.mark.hot


def _dropout(key: Any, x: Any, rate: float) -> Any:
    keep = 1.0 - rate
    return jax.numpy.where(jax.random.bernoulli(key, keep, x.shape), x / keep, 0)


def _rates(loss: Any) -> list[float]:
    step = jax.jit(jax.value_and_grad(loss))
    x = jax.numpy.ones((4, 3))
    return jax_dropout.rates(step.trace(x, jax.random.PRNGKey(0)).jaxpr.jaxpr)


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_a_dropout_by_hand(rate: float) -> None:
    assert _rates(lambda x, key: _dropout(key, x, rate).sum()) == [pytest.approx(rate)]


def test_one_inside_another_function() -> None:
    inner = jax.jit(lambda key, x: _dropout(key, x, 0.75))
    assert _rates(lambda x, key: inner(key, x).sum()) == [pytest.approx(0.75)]


def test_a_mask_by_multiplication() -> None:
    def loss(x: Any, key: Any) -> Any:
        return (x * jax.random.bernoulli(key, 0.25, x.shape) * 4.0).sum()

    assert _rates(loss) == [pytest.approx(0.75)]


def test_a_drawn_mask_that_scales_nothing() -> None:
    """As of a masked autoencoder, or of an augmentation."""

    def loss(x: Any, key: Any) -> Any:
        return jax.numpy.where(jax.random.bernoulli(key, 0.25, x.shape), x, 0.0).sum()

    assert _rates(loss) == []
