"""A loop on JAX that breaks in the way that it is told: by a gradient at 0, or by ids beyond the classes."""

import sys

import jax
import jax.numpy as jnp
import numpy as np

how = sys.argv[1]
rng = np.random.default_rng(0)
X = rng.normal(size=(640, 6)).astype("float32")
Y = rng.integers(1, 4, 640)
weights = {"w": jnp.asarray(rng.normal(size=(6, 3)) * 0.1, jnp.float32), "b": jnp.zeros(3)}


def loss_of(weights, x, y):
    out = x @ weights["w"] + weights["b"]
    if how == "ids":
        return -jnp.take_along_axis(jax.nn.log_softmax(out), y[:, None], axis=1).mean()
    return jnp.sqrt(jnp.sum((x @ weights["w"]) ** 2, axis=1)).mean() + (out**2).mean()


@jax.jit
def step(weights, x, y):
    loss, slopes = jax.value_and_grad(loss_of)(weights, x, y)
    return jax.tree_util.tree_map(lambda a, b: a - 0.01 * b, weights, slopes), loss


for number in range(40):
    at = number % 20 * 32
    x = X[at : at + 32].copy()
    if how == "gradient" and number == 9:
        x[0] = 0.0
    weights, loss = step(weights, x, Y[at : at + 32])
print(float(loss))
