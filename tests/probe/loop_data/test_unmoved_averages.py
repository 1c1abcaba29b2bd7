"""Averages of batch normalisation in a loop on JAX: given back, put into the state, or thrown away."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.journal.events import AveragesUnmoved, ProbeFailed

from ..probed import run

pytestmark = pytest.mark.hot

_SCRIPT = """
import jax, jax.numpy as jnp, numpy as np

x = np.random.default_rng(0).normal(5, 3, (64, 4)).astype("float32")
y = x[:, :1] - x[:, 1:2]
params = {"w": jnp.ones((4, 1)) * 0.1, "b": jnp.zeros(1)}
state = {"level": jnp.zeros(4), "spread": jnp.ones(4)}


def forward(params, state, x, train):
    mean, var = (x.mean(0), x.var(0)) if train else (state["level"], state["spread"])
    kept = {"level": 0.9 * state["level"] + 0.1 * x.mean(0), "spread": 0.9 * state["spread"] + 0.1 * x.var(0)}
    return (x - mean) / jnp.sqrt(var + 1e-3) @ params["w"] + params["b"], kept


def objective(params, state, x, y):
    out, state = forward(params, state, x, True)
    return jnp.mean((out - y) ** 2), state


@jax.jit
def step(params, state, x, y):
    (loss, new), slopes = jax.value_and_grad(objective, has_aux=True)(params, state, x, y)
    return jax.tree_util.tree_map(lambda a, b: a - 0.1 * b, params, slopes), {KEPT}, loss


@jax.jit
def score(params, state, x, y):
    return jnp.mean((forward(params, state, x, {MODE})[0] - y) ** 2)


for number in range(40):
    params, state, loss = step(params, state, x, y)
    if number % 10 == 9:
        float(score(params, state, x, y))
{AFTER}
"""
_MEASURE = """
for _ in range(50):
    _, state = objective(params, state, x, y)[1], forward(params, state, x, True)[1]
import time
time.sleep(0.2)
float(score(params, state, x, y))
"""


def _ran(folder: Path, **values: str) -> list[AveragesUnmoved]:
    script, given = folder / "train.py", {"KEPT": "state", "MODE": "False", "AFTER": "", **values}
    text = _SCRIPT
    for name, value in given.items():
        text = text.replace("{" + name + "}", value)
    script.write_text(text)
    told = run(script, folder=folder / "run", cwd=folder, JAX_PLATFORMS="cpu")
    assert told.code == 0, told.output
    assert told.all(ProbeFailed) == []
    return told.all(AveragesUnmoved)


def test_averages_that_are_thrown_away(tmp_path: Path) -> None:
    [seen] = _ran(tmp_path)
    assert (seen.step > 0, seen.names) == (True, ["level", "spread"])
    assert seen.where.startswith("train.py:") and seen.evaluated.startswith("train.py:")
    assert seen.where != seen.evaluated


@pytest.mark.parametrize(
    "values",
    [
        {"KEPT": "new"},
        {"MODE": "True"},  # the batch's own mean is used there too
        {"AFTER": _MEASURE},  # they are measured at the end
    ],
)
def test_averages_that_are_kept_or_not_used(tmp_path: Path, values: dict[str, str]) -> None:
    assert _ran(tmp_path, **values) == []
