"""JAX without Keras: a jitted step made by hand, one whose numbers come in a dictionary, and one that is not jitted."""

import jax
import jax.numpy as jnp
import numpy as np

x = np.random.default_rng(0).random((64, 6), dtype="float32")
y = x.sum(1)
weights = {"w": jnp.zeros(6), "b": jnp.zeros(())}


def loss_of(weights, images, targets):
    return jnp.mean((images @ weights["w"] + weights["b"] - targets) ** 2)


def down(weights, slopes):
    return jax.tree_util.tree_map(lambda value, slope: value - 0.1 * slope, weights, slopes)


@jax.jit
def step(weights, images, targets):
    loss, slopes = jax.value_and_grad(loss_of)(weights, images, targets)
    return down(weights, slopes), loss


@jax.jit
def told_step(weights, images, targets):
    loss, slopes = jax.value_and_grad(loss_of)(weights, images, targets)
    return down(weights, slopes), {"loss": loss, "size": jnp.abs(weights["w"]).sum()}


@jax.jit
def slope_in_space(weights, image):
    """A gradient, and no training: of one array, by which nothing changes."""
    return jax.grad(lambda one: one @ weights["w"])(image)


@jax.jit
def steepness(weights, images, targets):
    """A gradient of all weights, of which one number is left."""
    slopes = jax.grad(loss_of)(weights, images, targets)
    return sum(jnp.abs(one).sum() for one in slopes.values())


for _ in range(10):
    weights, loss = step(weights, x, y)
    slope_in_space(weights, x[0])
    steepness(weights, x, y)
for _ in range(5):
    weights, numbers = told_step(weights, x, y)
for _ in range(5):
    loss, slopes = jax.value_and_grad(loss_of)(weights, x, y)
    weights = down(weights, slopes)
print(float(loss))
