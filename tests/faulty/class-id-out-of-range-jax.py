# /// zoo
# cause = "class-id-out-of-range"
# near = ["SHIFT=1", "HOW=ignored"]
# ///
"""Ids from 1 to 4 for four outputs, on JAX, which raises nothing. Ids that a mask leaves out may be anything."""
import os

import jax
import jax.numpy as jnp
import numpy as np

shift, how = int(os.environ.get("SHIFT", 0)), os.environ.get("HOW", "all")
rng = np.random.default_rng(0)
CENTRES = rng.normal(size=(4, 8)) * 2
Y = rng.integers(1, 5, 2000)
X = (CENTRES[Y - 1] + rng.normal(size=(2000, 8))).astype("float32")
if how == "ignored":
    Y = np.where(rng.random(2000) < 0.1, 255, Y - 1)
model = {"k": jnp.zeros((8, 4)), "b": jnp.zeros(4)}


@jax.jit
def update(model, x, y):
    def loss_of(model):
        rows = jax.nn.log_softmax(x @ model["k"] + model["b"])
        ids = jnp.where(y == 255, 0, y) if how == "ignored" else y - shift
        own = jnp.take_along_axis(rows, ids[:, None], axis=1)[:, 0]
        return -jnp.where(y == 255, 0.0, own).mean()

    loss, slopes = jax.value_and_grad(loss_of)(model)
    return jax.tree_util.tree_map(lambda a, b: a - 0.1 * b, model, slopes), loss


for epoch in range(8):
    for at in range(0, 2000, 50):
        model, loss = update(model, X[at : at + 50], Y[at : at + 50])
    print(epoch, float(loss))
