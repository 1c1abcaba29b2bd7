"""What is laid out for an accelerator against the plain form of the same sum. `test_on_jax.py` runs it on JAX."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import keras
import numpy as np
import pytest
from keras import layers, ops

from holdfast.detectors import gather, losses
from holdfast.detectors.activation import relu, relu6
from holdfast.detectors.first_layer import convolved
from holdfast.detectors.fused import Block
from holdfast.detectors.pooling import max_pool


def values(seed, *shape):
    return jnp.asarray(np.random.default_rng(seed).normal(size=shape).astype(np.float32))


def compare(ours, plain, x, atol=1e-5):
    """Values, and the gradient of a sum with random weights."""
    found, back = jax.vjp(jax.jit(ours), x)
    expected, plain_back = jax.vjp(plain, x)
    np.testing.assert_allclose(found, expected, atol=atol)
    weights = values(9, *found.shape)
    np.testing.assert_allclose(back(weights)[0], plain_back(weights)[0], atol=atol)


@pytest.mark.parametrize(
    ("sides", "window", "stride", "padding"),
    [
        ((8, 8), 2, 2, "same"), ((9, 7), 2, 2, "same"), ((9, 8), 2, 2, "valid"), ((11, 10), 3, 2, "valid"),
        ((9, 9), 3, 2, "same"), ((7, 6), 3, 1, "same"),
    ],
)  # fmt: skip
def test_pooling_with_ties(sides, window, stride, padding):
    x = jnp.maximum(jnp.round(values(0, 2, *sides, 3) * 2), 0)  # many equal values
    compare(
        lambda x: max_pool(x, window, stride, padding), lambda x: ops.max_pool(x, window, stride, padding), x
    )


def test_a_value_that_is_no_number_is_not_pooled_away():
    x = values(0, 1, 4, 4, 1).at[0, 1, 2, 0].set(jnp.nan)
    assert np.isnan(max_pool(x, 2, 2, "same")).sum() == 1


def test_relu():
    x = values(1, 50) * 5
    compare(relu, ops.relu, x)
    compare(relu6, ops.relu6, x)


@pytest.mark.parametrize(
    ("side", "size", "stride", "padding"), [(14, 7, 2, "valid"), (15, 7, 2, "valid"), (6, 3, 1, "same")]
)
def test_convolution_over_pictures(side, size, stride, padding):
    x, kernel = values(2, 2, side, side + 2, 3), values(3, size, size, 3, 5)
    how = {"strides": (stride, stride), "padding": padding, "dilation_rate": (1, 1)}
    compare(lambda k: convolved(x, k, **how), lambda k: ops.conv(x, k, stride, padding), kernel, atol=1e-4)


def test_weighted_rows():
    random = np.random.default_rng(4)
    index = jnp.asarray(random.integers(0, 9, (6, 4)), jnp.int32)
    share = jnp.asarray(random.random((6, 4)), jnp.float32)
    compare(
        lambda table: gather.weighted_rows(table, index, share),
        lambda table: (table[index] * share[..., None]).sum(axis=1),
        values(5, 9, 3),
    )


def test_focal_loss_and_gradient_in_one_pass():
    random = np.random.default_rng(6)
    label = jnp.asarray(random.integers(-1, 4, (2, 7)), jnp.int32)
    counts = jnp.asarray(random.random((2, 7)) > 0.3)

    def plain(logits):
        each = losses.focal(logits, jax.nn.one_hot(label, 4)).sum(axis=-1)
        return jnp.where(counts, each, 0.0).sum(axis=1)

    compare(lambda logits: losses.focal_sum(logits, label, counts), plain, values(7, 2, 7, 4) * 3)


def network():
    x = images = keras.Input((16, 16, 3))
    x = layers.ZeroPadding2D(3)(x)
    x = layers.Conv2D(8, 7, 2)(x)
    x = layers.Activation("relu")(layers.BatchNormalization()(x))
    x = shortcut = layers.MaxPooling2D(3, 2)(layers.ZeroPadding2D(1)(x))
    x = layers.Conv2D(8, 3, padding="same", groups=2, use_bias=False)(x)
    x = layers.ReLU()(layers.BatchNormalization()(x))
    x = layers.BatchNormalization()(layers.DepthwiseConv2D(3, padding="same")(x))
    x = layers.ReLU()(layers.Add()([shortcut, x]))
    x = layers.MaxPooling2D(2)(layers.Conv2D(4, 3, activation=relu)(x))
    return keras.Model(images, x)


def test_a_block_is_the_network_it_was_made_of():
    model = network()
    random = np.random.default_rng(8)
    for variable in model.variables:
        low = 0.5 if "gamma" in variable.path or "variance" in variable.path else -0.5
        variable.assign(random.uniform(low, low + 1.0, variable.shape))
    block = Block(model.input, model.output, "block")
    trainable, fixed = model.trainable_variables, [one.value for one in model.non_trainable_variables]
    images = values(10, 2, 16, 16, 3)

    def ours(weights):
        with keras.StatelessScope(state_mapping=list(zip(trainable, weights, strict=True))):
            return jnp.sum(jnp.sin(block(images)))

    def plain(weights):
        return jnp.sum(jnp.sin(model.stateless_call(weights, fixed, images, training=False)[0]))

    weights = [variable.value for variable in trainable]
    found, expected = (jax.jit(jax.value_and_grad(one))(weights) for one in (ours, plain))
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-5)
    for variable, one, other in zip(trainable, found[1], expected[1], strict=True):
        np.testing.assert_allclose(one, other, atol=2e-4, err_msg=variable.path)
    assert [variable.path for variable in block.trainable_variables] == [one.path for one in trainable]
