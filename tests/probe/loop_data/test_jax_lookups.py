"""Where a program of JAX looks up the integers that it is given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from holdfast.probe.loop_data import jax_lookups

pytestmark = pytest.mark.hot

#: From weights (9 to 5 classes, and a table of 20 rows), 7 rows and 7 ids to a loss.
LOSSES: dict[str, Callable[..., Any]] = {
    "along an axis": lambda jax, w, t, x, y: jax.numpy.take_along_axis(x @ w, y[:, None], axis=1).mean(),
    "indexed": lambda jax, w, t, x, y: (x @ w)[jax.numpy.arange(7), y].mean(),
    "by row": lambda jax, w, t, x, y: jax.vmap(lambda a, b: (a @ w)[b])(x, y).mean(),
    "one-hot": lambda jax, w, t, x, y: (jax.nn.one_hot(y, 5) * (x @ w)).mean(),
    "counted from one": lambda jax, w, t, x, y: (jax.nn.one_hot(y - 1, 5) * (x @ w)).mean(),
    "masked": lambda jax, w, t, x, y: (
        jax.numpy.take_along_axis(x @ w, jax.numpy.where(y != 255, y, 0)[:, None], axis=1)
    ).mean(),
    "clipped": lambda jax, w, t, x, y: (x @ w)[jax.numpy.arange(7), jax.numpy.clip(y, 0, 4)].mean(),
    "table": lambda jax, w, t, x, y: (t[y] @ w).mean(),
    "taken from a table": lambda jax, w, t, x, y: (jax.numpy.take(t, y, axis=0) @ w).mean(),
}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("along an axis", [(3, 0, 5, "fill", False)]),
        ("indexed", [(3, 0, 5, "clip", False)]),
        ("by row", [(3, 0, 5, "clip", False)]),
        ("one-hot", [(3, 0, 5, "one-hot", False)]),
        ("counted from one", [(3, -1, 5, "one-hot", False)]),
        ("masked", []),
        ("clipped", []),
        ("table", [(3, 0, 20, "clip", True)]),
        ("taken from a table", [(3, 0, 20, "fill", True)]),
    ],
)
def test_a_lookup_as_people_write_it(name: str, expected: list[tuple[Any, ...]]) -> None:
    jax = pytest.importorskip("jax")
    jnp = jax.numpy
    step = jax.jit(
        lambda w, t, x, y: jax.value_and_grad(lambda w: LOSSES[name](jax, w[0], w[1], x, y))((w, t))
    )
    given = jnp.ones((9, 5)), jnp.ones((20, 9)), jnp.ones((7, 9)), jnp.zeros(7, "int32")
    jaxpr = step.trace(*given).jaxpr.jaxpr
    assert [tuple(one) for one in jax_lookups.found(jaxpr, {3}, {0, 1})] == expected
