"""Which loss a program of JAX minimises, and from which of its arguments."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.probe.loop_data import jax_loss

pytestmark = pytest.mark.hot
SPARSE, BINARY, SQUARED = "sparse_categorical_crossentropy", "binary_crossentropy", "mean_squared_error"


def _row(jax: Any, x: Any, w: Any) -> Any:
    return jax.nn.relu(x @ w[0]) @ w[1]


def _z(jax: Any, x: Any, w: Any) -> Any:
    return _row(jax, x, w)[:, 0]


LOSSES = {
    "log-softmax": lambda jax, x, w, y: -jax.nn.log_softmax(_row(jax, x, w))[jax.numpy.arange(5), y].mean(),
    "log-sum-exp": lambda jax, x, w, y: (
        jax.nn.logsumexp(jax.nn.softmax(_row(jax, x, w)), axis=-1)
        - jax.numpy.take_along_axis(jax.nn.softmax(_row(jax, x, w)), y[:, None], axis=1)[:, 0]
    ).mean(),
    "logarithms": lambda jax, x, w, y: (
        -(
            y * jax.numpy.log(jax.nn.sigmoid(_z(jax, x, w)) + 1e-7)
            + (1 - y) * jax.numpy.log(1 - jax.nn.sigmoid(_z(jax, x, w)) + 1e-7)
        ).mean()
    ),
    "difference": lambda jax, x, w, y: ((jax.numpy.tanh(_z(jax, x, w)) - y) ** 2).mean(),
    "half of it": lambda jax, x, w, y: 0.5 * ((_z(jax, x, w) - y) ** 2).mean(),
    "a quantile's, of every pair": lambda jax, x, w, y: jax.numpy.maximum(
        0.9 * (y - _row(jax, x, w)[:, :1]), -0.1 * (y - _row(jax, x, w)[:, :1])
    ).mean(),
    "huber, written out, of every pair": lambda jax, x, w, y: jax.numpy.where(
        abs(_row(jax, x, w)[:, :1] - y) < 1.0,
        0.5 * (_row(jax, x, w)[:, :1] - y) ** 2,
        1.0 * (abs(_row(jax, x, w)[:, :1] - y) - 0.5),
    ).mean(),
    "of those with a mask": lambda jax, x, w, y: jax.numpy.where(y > 0, (_z(jax, x, w) - y) ** 2, 0.0).mean(),
    "with a penalty": lambda jax, x, w, y: ((_z(jax, x, w) - y) ** 2).mean() + (w[0] ** 2).sum(),
}


@pytest.mark.parametrize(
    ("name", "labels", "expected"),
    [
        ("log-softmax", "int32", (SPARSE, True, "linear", False)),
        ("log-sum-exp", "int32", (SPARSE, True, "softmax", False)),
        ("logarithms", "float32", (BINARY, False, "sigmoid", False)),
        ("difference", "float32", (SQUARED, None, "tanh", False)),
        ("huber, written out, of every pair", "float32", ("huber", None, "linear", False)),
        ("of those with a mask", "float32", (SQUARED, None, "linear", False)),
        ("half of it", "float32", (SQUARED, None, "linear", True)),
        ("with a penalty", "float32", (SQUARED, None, "linear", True)),
        ("a quantile's, of every pair", "float32", ("difference", None, "linear", True)),
    ],
)
def test_a_loss_as_people_write_it(name: str, labels: str, expected: tuple[Any, ...]) -> None:
    jax = pytest.importorskip("jax")
    jnp, loss = jax.numpy, LOSSES[name]
    step = jax.jit(lambda w, x, y: jax.value_and_grad(lambda w: loss(jax, x, w, y))(w))
    given = ((jnp.ones((4, 8)), jnp.ones((8, 3))), jnp.ones((5, 4)), jnp.zeros(5, labels))
    jaxpr = step.trace(*given).jaxpr.jaxpr
    seen = jax_loss.read(jaxpr, jaxpr.outvars[0], {0, 1})
    assert seen is not None
    assert (seen.loss, seen.from_logits, seen.activation, seen.part) == expected
    assert (seen.inputs, seen.targets, seen.target_shape) == ((2,), (3,), (5,))
