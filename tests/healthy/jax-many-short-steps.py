# /// zoo
# cause = "healthy"
# ///
"""Steps so short that their losses are read now and then only; the loss falls slowly all the time."""
import jax
import jax.numpy as jnp
import numpy as np

random = np.random.default_rng(0)
x = jnp.array(random.normal(size=(64, 8)))
y = x @ jnp.array(random.normal(size=(8, 8)))
weights = {"kernel": jnp.ones((8, 8)), "bias": jnp.zeros(8)}


def loss_of(weights):
    return jnp.mean((x @ weights["kernel"] + weights["bias"] - y) ** 2)


@jax.jit
def step(weights):
    loss, slopes = jax.value_and_grad(loss_of)(weights)
    return loss, jax.tree.map(lambda weight, slope: weight - 2e-5 * slope, weights, slopes)


for number in range(60000):
    loss, weights = step(weights)
print(f"{float(loss):.6f}")
