"""`python -m tests.gpu.kernels_equal`: the kernels against their plain forms, on the GPU itself, at real sizes."""

from __future__ import annotations

import os

os.environ.setdefault("KERAS_BACKEND", "jax")

import jax
import jax.numpy as jnp
import numpy as np

from holdfast.detectors.fusion import bias_gradient, vgg_stem
from holdfast.detectors.fusion.max_pool import max_pool, max_pool_pixel_pairs, max_pool_space_to_depth
from holdfast.detectors.ops import batched_gather, losses, pallas_kernels


def values(seed, *shape, dtype=jnp.bfloat16):
    return jax.random.normal(jax.random.key(seed), shape, jnp.float32).astype(dtype)


def both(function, *arguments):
    """With the kernels, and without."""
    text = jax.jit(function).lower(*arguments).as_text()
    assert "xla.gpu.triton" in text, "the kernel was not taken"
    found = jax.jit(function)(*arguments)
    pallas_kernels.MIN_ELEMENTS, before = 2**62, pallas_kernels.MIN_ELEMENTS
    try:
        plain = jax.jit(lambda *x: function(*x))(*arguments)
    finally:
        pallas_kernels.MIN_ELEMENTS = before
    return [(np.asarray(a, np.float32), np.asarray(b, np.float32)) for a, b in
            zip(jax.tree.leaves(found), jax.tree.leaves(plain), strict=True)]  # fmt: skip


def off(pairs):
    return max(float(np.linalg.norm(a - b) / max(np.linalg.norm(b), 1e-30)) for a, b in pairs)


def main() -> None:
    for channels in (64, 256, 2048):
        shape = (16, 80, 80, channels)
        output = jnp.maximum(values(1, *shape), 0)
        found = off(both(bias_gradient.relu_gradient_and_sums, output, values(2, *shape)))
        print(f"ReLU's gradient and sums, {channels} channels: {found:.1e}", flush=True)
        assert found < 1e-5
        found = off(both(bias_gradient.sums, values(2, *shape)))
        print(f"sums, {channels} channels: {found:.1e}", flush=True)
        assert found < 1e-5
    weights = values(4, 4, 160, 160, 64)
    for name, pool, shape in (
        ("", lambda x: max_pool(x, 3, 2, ((1, 1), (1, 1))), (4, 320, 320, 64)),
        (" two by two", lambda x: max_pool(x, 2, 2, "same"), (4, 320, 320, 64)),
        (" of fours", max_pool_space_to_depth, (4, 160, 160, 256)),
        (" of pairs", max_pool_pixel_pairs, (4, 320, 161, 128)),
    ):
        found = off(both(lambda x, pool=pool: jax.vjp(pool, x)[1](weights), values(3, *shape)))
        print(f"gradient of pooling{name}: {found:.1e}", flush=True)
        assert found < 1e-2  # up to four halves are added, in another order
    outputs, bias = values(5, 8, 1600, 720) * 2, values(6, 720, dtype=jnp.float32)
    label = jax.random.randint(jax.random.key(7), (8, 14400), -1, 80)
    counts = jax.random.uniform(jax.random.key(8), (8, 14400)) > 0.1

    def loss(outputs, bias):
        return losses.focal_sum(outputs, bias, label, counts, 80)

    def focal(outputs, bias):
        value, back = jax.vjp(loss, outputs, bias)
        return value, back(jnp.arange(1.0, 9.0))

    value, gradient, of_bias = both(focal, outputs, bias)
    print(
        f"focal loss {off([value]):.1e}, gradient {off([gradient]):.1e}, of the bias {off([of_bias]):.1e}",
        flush=True,
    )
    assert off([value, of_bias]) < 1e-4
    assert off([gradient]) < 5e-3  # kept in halves, which the compiler may leave longer in the plain form
    table, index = values(9, 40000, 256), jax.random.randint(jax.random.key(10), (25088, 16), 0, 40000)
    share = jax.random.uniform(jax.random.key(11), (25088, 16))
    found = off(both(batched_gather.weighted_rows, table, index, share))
    print(f"weighted rows: {found:.1e}", flush=True)
    assert found < 1e-3
    first_layer()
    print("equal")


def first_layer() -> None:
    images, kernel, bias = (
        values(12, 16, 300, 300, 3),
        values(13, 3, 3, 3, 64),
        values(14, 64, dtype=jnp.float32),
    )
    weights = values(15, 16, 300, 152, 128)

    def gradients(kernel, bias):
        return jax.vjp(lambda *parts: vgg_stem.first_convolution(images, *parts), kernel, bias)[1](weights)

    found = off(both(vgg_stem.pair_neighbourhoods, images))
    print(f"first layer's pictures: {found:.1e}", flush=True)
    assert found == 0.0
    found = off(both(gradients, kernel, bias))
    print(f"first layer's kernel and bias: {found:.1e}", flush=True)
    assert found < 5e-3  # the kernel's is given in halves


if __name__ == "__main__":
    main()
