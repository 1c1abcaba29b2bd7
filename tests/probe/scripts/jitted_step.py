"""A step of JAX that takes the softmax twice; its weights are donated."""

import functools
import hashlib

import jax
import jax.numpy as jnp
import numpy as np

chance = np.random.default_rng(0)
y = chance.integers(0, 4, 400)
x = (chance.normal(size=(4, 5))[y] + chance.normal(size=(400, 5))).astype("float32")
weights = {
    "a": jnp.array(chance.normal(size=(5, 8)) * 0.3),
    "b": jnp.zeros(8),
    "c": jnp.array(chance.normal(size=(8, 4))),
}
traced = 0


def loss(weights, x, y):
    global traced
    traced += 1
    probabilities = jax.nn.softmax(jax.nn.relu(x @ weights["a"] + weights["b"]) @ weights["c"])
    return -jnp.mean(jax.nn.log_softmax(probabilities)[jnp.arange(len(y)), y])


@functools.partial(jax.jit, donate_argnums=0)
def step(weights, x, y):
    value, slopes = jax.value_and_grad(loss)(weights, x, y)
    return jax.tree.map(lambda one, slope: one - 0.1 * slope, weights, slopes), value


for number in range(60):
    rows = slice(20 * (number % 20), 20 * (number % 20) + 20)
    weights, value = step(weights, x[rows], y[rows])
digest = hashlib.sha256(b"".join(np.asarray(one).tobytes() for one in jax.tree.leaves(weights))).hexdigest()[
    :12
]
print(f"the loss was traced {traced} times")
print(float(value), digest)
