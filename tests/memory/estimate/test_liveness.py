"""The walk over a traced step, on programs small enough to count by hand."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.hot

COUNTED = """
import jax, jax.numpy as jnp
from holdfast.memory.estimate.liveness import peak_of

N = 256  # a matrix of float32 is 256 KiB
KIB = N * N * 4
matrix = jax.ShapeDtypeStruct((N, N), jnp.float32)

def peak(function, *shapes):
    return peak_of(jax.jit(function).trace(*shapes).jaxpr).temp_bytes / KIB

# one product lives until the other is made from it; the result is an output, which is counted elsewhere
assert peak(lambda a, b: (a @ b) @ b, matrix, matrix) == 1
# a chain of elementwise operations is fused into what reads it
assert peak(lambda a, b: jnp.tanh((a @ b) * 2 + 1) @ b, matrix, matrix) == 2
assert peak(lambda a: jnp.sum(jnp.tanh(a * 2) + 1), matrix) < 0.01
# two products that are both needed at the end
assert peak(lambda a, b: (a @ b) @ (b @ a), matrix, matrix) == 2

# a chain of three layers keeps its activations for the backward pass; checkpointed, only the layers' inputs
def layer(x, w):
    return jnp.sin(jnp.sin(x @ w) @ w)

def loss(w, x, layer):
    for _ in range(4):
        x = layer(x, w)
    return jnp.sum(x * x)

plain = peak(lambda w, x: jax.grad(lambda w: loss(w, x, layer))(w), matrix, matrix)
lean = peak(lambda w, x: jax.grad(lambda w: loss(w, x, jax.checkpoint(layer)))(w), matrix, matrix)
assert lean < 0.8 * plain, (lean, plain)

# a loop counts its body once, and what lives around it
def looped(a, b):
    return jax.lax.scan(lambda carry, _: ((carry @ b) @ b, None), a @ b, None, length=5)[0] @ b
assert peak(looped, matrix, matrix) == 3, peak(looped, matrix, matrix)
print("counted")
"""


def test_programs_counted_by_hand():
    environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [sys.executable, "-c", COUNTED], env=environment, capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "counted", done.stderr[-1500:]
