"""Steps of a jitted function, of which the last takes seconds, and another call of that length. Prints their lines.

What the probe finds after ten seconds on a GPU it is made to find after two on a CPU.
"""

import inspect
import sys
import time

import jax
import jax.numpy as jnp

for part in [module for name, module in sys.modules.items() if name.endswith("probe.process.same_point")]:
    part._QUIET_S, part._FIRST_S, part._EVERY_S, part.opens_gpu = 0.1, 0.5, 0.5, lambda: True

x = jnp.linspace(0.0, 1.0, 64).reshape(16, 4)
y = x.sum(axis=1)


def spin(value, turns):
    return jax.lax.while_loop(
        lambda state: state[0] < turns, lambda s: (s[0] + 1, s[1] * 0.999999), (0, value)
    )[1]


def loss_of(weights):
    return jnp.mean((x @ weights["w"] + weights["b"] - y) ** 2)


@jax.jit
def step(weights, turns):
    loss, slopes = jax.value_and_grad(loss_of)(weights)
    return jax.tree_util.tree_map(lambda value, slope: value - 0.1 * slope, weights, slopes), spin(
        loss, turns
    )


@jax.jit
def evaluate(weights, turns):
    return spin(loss_of(weights), turns)


weights = {"w": jnp.zeros(4), "b": jnp.zeros(())}
for _ in range(5):
    weights, loss = step(weights, 10)
    float(loss)
float(evaluate(weights, 10))
began = time.perf_counter()
float(evaluate(weights, 20_000_000))
turns = min(int(20_000_000 * 6 / (time.perf_counter() - began)), 2**31 - 1)  # counted in 32 bits
line = inspect.currentframe().f_lineno
weights, loss = step(weights, turns)
float(loss)
also_line = inspect.currentframe().f_lineno
result = evaluate(weights, turns)
float(result)
print(line, also_line)
