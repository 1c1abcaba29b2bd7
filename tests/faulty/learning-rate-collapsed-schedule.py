# /// zoo
# cause = "learning-rate-collapsed"
# near = ["HALVES_EVERY=400", "ROWS=all"]
# ///
"""A rate that was to halve with each epoch halves with each step. A training on all rows comes to rest by itself."""
import os

import jax
import jax.numpy as jnp
import numpy as np

every, rows = int(os.environ.get("HALVES_EVERY", 4)), os.environ.get("ROWS", "some")
rng = np.random.default_rng(0)
X = rng.normal(size=(2000, 6)).astype("float32")
Y = (X @ rng.normal(size=(6, 1)) + rng.normal(size=(2000, 1))).astype("float32")
model = {"k": jnp.zeros((6, 1)), "b": jnp.zeros(1)}


@jax.jit
def advance(model, done, x, y):
    error, slopes = jax.value_and_grad(lambda m: jnp.mean((x @ m["k"] + m["b"] - y) ** 2))(model)
    amount = 0.02 * 0.5 ** (done / every)
    return jax.tree_util.tree_map(lambda a, b: a - amount * b, model, slopes), error


for done in range(800):
    some = slice(None) if rows == "all" else rng.integers(0, 2000, 40)
    model, error = advance(model, float(done if rows == "some" else 0), X[some], Y[some])
    if done % 100 == 0:
        print(done, float(error))
