# /// zoo
# cause = "loss-singular"
# near = ["EPSILON=1e-6"]
# ///
"""The distance of a point to itself: its root has no gradient. The script looks at its loss, and raises."""
import os

import jax
import jax.numpy as jnp
import numpy as np

epsilon = float(os.environ.get("EPSILON", 0))
rng = np.random.default_rng(0)
X = rng.normal(size=(500, 8)).astype("float32")
model = {"k": jnp.asarray(rng.normal(size=(8, 2)) * 0.3, jnp.float32), "b": jnp.zeros(2)}


def spread(model, x):
    z = x @ model["k"] + model["b"]
    apart = jnp.sqrt(((z[:, None] - z[None]) ** 2).sum(-1) + epsilon)
    return ((apart - 1.0) ** 2).mean()


@jax.jit
def update(model, x):
    loss, slopes = jax.value_and_grad(spread)(model, x)
    return jax.tree_util.tree_map(lambda a, b: a - 0.05 * b, model, slopes), loss


for done in range(300):
    model, loss = update(model, X[rng.integers(0, 500, 24)])
    if not np.isfinite(float(loss)):
        raise RuntimeError(f"stopped at {done}")
print(float(loss))
