"""A loop on the GPU whose condition never becomes false: at step 200 what it refines is NaN."""

import time

import jax
import jax.numpy as jnp
import numpy as np

random = np.random.default_rng(4)
images = random.normal(size=(4096, 256)).astype(np.float32)
targets = images @ random.normal(size=256).astype(np.float32)
parameters = {"weight": jnp.zeros(256), "bias": jnp.zeros(())}


def loss_of(parameters, batch, wanted):
    return jnp.mean((batch @ parameters["weight"] + parameters["bias"] - wanted) ** 2)


def refined(value):
    """Newton's steps towards a square root, until they are small."""

    def too_far(state):
        _, change = state
        return ~(change < 1e-3)

    def nearer(state):
        root, _ = state
        new = 0.5 * (root + value / root)
        return new, jnp.abs(new - root)

    return jax.lax.while_loop(too_far, nearer, (jnp.maximum(value, 1.0), jnp.inf))[0]


@jax.jit
def step(parameters, batch, wanted, scale):
    loss, slopes = jax.value_and_grad(loss_of)(parameters, batch, wanted)
    moved = jax.tree_util.tree_map(lambda one, slope: one - 0.01 * slope, parameters, slopes)
    return moved, refined(loss * scale)


for number in range(400):
    rows = slice(number % 32 * 128, number % 32 * 128 + 128)
    scale = np.float32("nan") if number == 200 else np.float32(1.0)
    parameters, loss = step(parameters, images[rows], targets[rows], scale)
    time.sleep(0.1)  # as a loader would take
    print("step", number, "loss", float(loss), flush=True)
