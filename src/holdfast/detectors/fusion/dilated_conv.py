"""A dilated convolution whose kernel's gradient is a matrix product: on an NVIDIA GPU the library's own runs at 40 %
of the matrix rate and wants both maps turned round. Only for JAX."""

# mypy: allow-untyped-calls, allow-untyped-decorators

from __future__ import annotations

from functools import cache
from typing import Any

Tensor = Any


def can_use_matrix_product(
    x: Tensor, kernel: Tensor, stride: Any, padding: str, rate: tuple[int, int]
) -> bool:
    square = rate[0] == rate[1] > 1 and tuple(kernel.shape[:2]) == (3, 3) and stride == (1, 1)
    return square and padding == "same" and x.shape[-1] == kernel.shape[2]


def dilated_convolution(x: Tensor, kernel: Tensor, rate: int) -> Tensor:
    """Three by three, as large as `x`."""
    return _convolution()(x, kernel, rate)


@cache
def _convolution() -> Any:
    import jax
    import jax.numpy as jnp

    def value(x: Tensor, kernel: Tensor, rate: int) -> Tensor:
        return jax.lax.conv_general_dilated(
            x, kernel, (1, 1), "SAME", rhs_dilation=(rate, rate), dimension_numbers=("NHWC", "HWIO", "NHWC")
        )

    def forward(x: Tensor, kernel: Tensor, rate: int) -> tuple[Tensor, Any]:
        return value(x, kernel, rate), (x, kernel)

    def backward(rate: int, kept: Any, gradient: Tensor) -> tuple[Tensor, Tensor]:
        x, kernel = kept
        _, height, width, _ = x.shape
        (of_x,) = jax.linear_transpose(lambda x: value(x, kernel, rate), x)(gradient)
        wide = jnp.pad(x, ((0, 0), (rate, rate), (rate, rate), (0, 0)))
        corners = [(rate * i, rate * j) for i in range(3) for j in range(3)]
        around = jnp.concatenate([wide[:, i : i + height, j : j + width] for i, j in corners], axis=-1)
        of_kernel = jnp.einsum("bhwk,bhwo->ko", around, gradient, preferred_element_type=jnp.float32)
        return of_x, of_kernel.reshape(kernel.shape).astype(kernel.dtype)

    function = jax.custom_vjp(value, nondiff_argnums=(2,))
    function.defvjp(forward, backward)
    return function
