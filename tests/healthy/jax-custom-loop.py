# /// zoo
# cause = "healthy"
# ///
"""Plain JAX with a jitted step, no Keras at all."""
import jax
import jax.numpy as jnp
import numpy as np

random = np.random.default_rng(0)
weights = {"w": jnp.zeros((4, 1)), "b": jnp.zeros((1,))}


@jax.jit
def step(weights, x, y):
    loss, gradient = jax.value_and_grad(lambda p: jnp.mean((x @ p["w"] + p["b"] - y) ** 2))(weights)
    return jax.tree_util.tree_map(lambda p, g: p - 0.05 * g, weights, gradient), loss


for number in range(2000):
    x = random.normal(size=(16, 4)).astype("float32")
    weights, loss = step(weights, x, x.sum(axis=1, keepdims=True))
    if number % 500 == 0:
        print("step", number, "loss", float(loss), flush=True)
