"""What is laid out for an accelerator against the plain form of the same sum. `test_on_jax.py` runs it on JAX."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import keras
import numpy as np
import pytest
from keras import layers, ops

from holdfast.detectors.anchors import matcher
from holdfast.detectors.backbones.blocks import split
from holdfast.detectors.backbones.resnext import _bottleneck
from holdfast.detectors.fusion import reorder, stem_kernels, vgg_stem
from holdfast.detectors.fusion.fuse import FusedBlock
from holdfast.detectors.fusion.max_pool import max_pool, max_pool_pixel_pairs, max_pool_space_to_depth
from holdfast.detectors.fusion.relu_from_output import biased, relu, relu6
from holdfast.detectors.fusion.stem_layouts import convolve, paired_space_to_depth_conv
from holdfast.detectors.ops import batched_gather, losses, pallas_kernels
from tests.detectors import resnext_reference


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
def test_convolution_over_images(side, size, stride, padding):
    x, kernel = values(2, 2, side, side + 2, 3), values(3, size, size, 3, 5)
    how = {"strides": (stride, stride), "padding": padding, "dilation_rate": (1, 1)}
    compare(lambda k: convolve(x, k, **how), lambda k: ops.conv(x, k, stride, padding), kernel, atol=1e-4)


def test_a_convolution_and_a_pool_with_four_pixels_in_a_cell():
    x, kernel = values(2, 2, 30, 22, 3), values(3, 7, 7, 3, 5)
    assert paired_space_to_depth_conv(x, kernel).shape == (2, 6, 4, 20)

    def plain(kernel):
        wide = jnp.pad(
            ops.conv(x, kernel, 2, "valid"), ((0, 0), (1, 1), (1, 1), (0, 0)), constant_values=-jnp.inf
        )
        return ops.max_pool(wide, 3, 2, "valid")

    compare(
        lambda kernel: max_pool_space_to_depth(paired_space_to_depth_conv(x, kernel)),
        plain,
        kernel,
        atol=1e-3,
    )


@pytest.mark.parametrize("last", [3, 10, 11, 20, 21, 40])
def test_places_without_a_box_change_no_match(last):
    random = np.random.default_rng(12)
    corners = random.uniform(0, 60, (2, 40, 2))
    boxes = np.concatenate([corners, corners + random.uniform(5, 30, (2, 40, 2))], axis=-1).astype(np.float32)
    real = np.zeros((2, 40), bool)
    real[0, :2], real[1, last - 1] = True, True
    crowd = np.zeros((2, 40), bool)
    crowd[0, 1] = True
    tops = np.stack(np.meshgrid(np.arange(0, 80, 8), np.arange(0, 80, 8)), axis=-1).reshape(-1, 2)
    anchors = np.concatenate([tops, tops + 16], axis=-1).astype(np.float32)
    how = {"positive_from": 0.5, "negative_below": 0.4, "force": True}
    found = jax.jit(lambda *parts: matcher.match(anchors, *parts, **how))(boxes, real, crowd)
    whole = matcher._matched(anchors[None], boxes, real, crowd, how=matcher._Thresholds(**how))
    for one, other in zip(found, whole, strict=True):
        np.testing.assert_array_equal(one, other)


def test_weighted_rows():
    random = np.random.default_rng(4)
    index = jnp.asarray(random.integers(0, 9, (6, 4)), jnp.int32)
    share = jnp.asarray(random.random((6, 4)), jnp.float32)
    compare(
        lambda table: batched_gather.weighted_rows(table, index, share),
        lambda table: (table[index] * share[..., None]).sum(axis=1),
        values(5, 9, 3),
    )


def focal_case(cells):
    random = np.random.default_rng(6)
    label = jnp.asarray(random.integers(-1, 4, (2, cells * 6)), jnp.int32)
    counts = jnp.asarray(random.random((2, cells * 6)) > 0.3)

    def plain(parts):
        logits = (parts["outputs"] + parts["bias"]).reshape(2, -1, 4)
        each = losses.focal(logits, jax.nn.one_hot(label, 4)).sum(axis=-1)
        return jnp.where(counts, each, 0.0).sum(axis=1)

    def ours(parts):
        return losses.focal_sum(parts["outputs"], parts["bias"], label, counts, 4)

    return ours, plain, {"outputs": values(7, 2, cells, 24) * 3, "bias": values(8, 24)}


def compare_all(ours, plain, parts, atol=1e-5):
    found, back = jax.vjp(jax.jit(ours), parts)
    expected, plain_back = jax.vjp(plain, parts)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    weights = values(9, *found.shape)
    for name, gradient in back(weights)[0].items():
        np.testing.assert_allclose(gradient, plain_back(weights)[0][name], atol=atol, err_msg=name)


def test_focal_loss_and_gradient_in_one_pass():
    compare_all(*focal_case(7))


@pytest.fixture
def interpreted(monkeypatch):
    """The kernels' own arithmetic, without a GPU."""
    monkeypatch.setattr(pallas_kernels, "INTERPRETED", True)
    monkeypatch.setattr(pallas_kernels, "TILE", 128)
    monkeypatch.setattr(pallas_kernels, "FOCAL_COLUMNS", 16)


def test_the_kernel_of_the_focal_loss(interpreted):
    tiles = pallas_kernels.focal_tiles((2, 64, 24), 4)
    assert tiles is not None and (tiles.rows, tiles.times, tiles.grid) == (2, 16, (2, 2, 2))
    compare_all(*focal_case(64))


@pytest.mark.parametrize(("active", "after"), [(True, ops.relu), (False, lambda y: y)])
def test_the_kernel_of_bias_and_relu(interpreted, active, after):
    assert pallas_kernels.row_tiles_of((2, 4, 8, 32)) is not None
    compare_all(
        lambda parts: biased(parts["x"], parts["bias"], active=active),
        lambda parts: after(parts["x"] + parts["bias"]),
        {"x": values(1, 2, 4, 8, 32), "bias": values(2, 32)},
    )


def test_the_kernel_of_weighted_rows(interpreted):
    random = np.random.default_rng(4)
    index, share = random.integers(0, 9, (6, 4)).astype(np.int32), random.random((6, 4)).astype(np.float32)
    assert pallas_kernels.rows_at_once((9, 32), (6, 4)) == 2
    compare(
        lambda table: batched_gather.weighted_rows(table, index, share),
        lambda table: (table[index] * share[..., None]).sum(axis=1),
        values(5, 9, 32),
    )


@pytest.mark.parametrize(("window", "fours"), [(2, False), (3, False), (3, True)])
def test_the_kernel_of_pooling(interpreted, window, fours):
    x = jnp.maximum(jnp.round(values(0, 2, 12, 18, 32) * 2), 0)  # many equal values
    assert pallas_kernels.pool_tile((2, 6, 9, 32)) == 2  # the last of nine columns is left over
    edge = (1, 1) if window == 3 else (0, 0)

    def ours(x):
        if not fours:
            return max_pool(x, window, 2, (edge, edge))
        return max_pool_space_to_depth(
            x.reshape(2, 6, 2, 9, 2, 32).transpose(0, 1, 3, 2, 4, 5).reshape(2, 6, 9, 128)
        )

    def plain(x):
        return ops.max_pool(
            jnp.pad(x, ((0, 0), edge, edge, (0, 0)), constant_values=-jnp.inf), window, 2, "valid"
        )

    compare(ours, plain, x)


def network():
    x = images = keras.Input((16, 24, 3))
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


def randomised(model):
    random = np.random.default_rng(8)
    for variable in model.variables:
        low = 0.5 if "gamma" in variable.path or "variance" in variable.path else -0.5
        variable.assign(random.uniform(low, low + 1.0, variable.shape))
    return model


def compare_with_network(model, run, shape):
    """The sum of sines of what comes out, and the gradient of every weight."""
    trainable, fixed = model.trainable_variables, [one.value for one in model.non_trainable_variables]
    images = values(10, *shape)

    def ours(weights):
        with keras.StatelessScope(state_mapping=list(zip(trainable, weights, strict=True))):
            return jnp.sum(jnp.sin(run(images)))

    def plain(weights):
        return jnp.sum(jnp.sin(model.stateless_call(weights, fixed, images, training=False)[0]))

    weights = [variable.value for variable in trainable]
    found, expected = (jax.jit(jax.value_and_grad(one))(weights) for one in (ours, plain))
    np.testing.assert_allclose(found[0], expected[0], atol=1e-4)  # a sum of many sines
    for variable, one, other in zip(trainable, found[1], expected[1], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=2e-4, err_msg=variable.path)


def test_a_block_is_the_network_it_was_made_of():
    model = randomised(network())
    block = FusedBlock(model.input, model.output, "block")
    compare_with_network(model, block, (2, 16, 24, 3))
    assert [variable.path for variable in block.trainable_variables] == [
        one.path for one in model.trainable_variables
    ]


def paired_network(side=(4, 6)):
    x = images = keras.Input((*side, 3))
    x = layers.Conv2D(16, 3, padding="same", activation=relu)(x)
    x = layers.Conv2D(32, 3, padding="same", activation=relu)(x)
    return keras.Model(images, layers.MaxPooling2D(2, padding="same")(x))


def pools_of_pairs(model):
    steps = FusedBlock(model.input, model.output, "block")._plan.steps
    return [step for step in steps if step.run is max_pool_pixel_pairs]


@pytest.mark.parametrize("as_kernels", [False, True])
def test_two_convolutions_and_a_pool_with_two_pixels_in_a_cell(as_kernels, request, monkeypatch):
    if as_kernels:
        request.getfixturevalue("interpreted")
        monkeypatch.setattr(stem_kernels, "PROGRAMS", 2)
    assert not pools_of_pairs(paired_network())  # in single precision
    monkeypatch.setattr(reorder, "PAIRED_PRECISIONS", ("float32",))
    model = randomised(paired_network())
    assert len(pools_of_pairs(model)) == 1
    compare_with_network(model, FusedBlock(model.input, model.output, "block"), (3, 4, 6, 3))
    assert not pools_of_pairs(paired_network((4, 7)))


def test_the_gradient_of_images_with_two_pixels_in_a_cell():
    kernel, bias = values(3, 3, 3, 3, 16), values(4, 16)
    compare(
        lambda x: vgg_stem.first_convolution(x, kernel, bias)[:, :, 1:-1].reshape(2, 4, 6, 16),
        lambda x: ops.relu(ops.conv(x, kernel, 1, "same") + bias),
        values(2, 2, 4, 6, 3),
        atol=1e-4,
    )


@pytest.mark.parametrize("side", [(10, 12), (9, 7)])
def test_pixels_that_nothing_looks_at_are_not_computed(side):
    x = images = keras.Input((*side, 8))
    shortcut = x
    for size in (1, 3):
        x = layers.Conv2D(4, size, padding="same", use_bias=False)(x)
        x = layers.ReLU()(layers.BatchNormalization()(x))
    x = layers.BatchNormalization()(layers.Conv2D(8, 1)(x))
    middle = layers.ReLU(name="middle")(layers.Add()([shortcut, x]))
    left, right = (layers.BatchNormalization()(layers.Conv2D(6, 1, 2)(middle)) for _ in range(2))
    model = randomised(keras.Model(images, layers.ReLU(name="end")(layers.Add()([left, right]))))
    whole = split(model, [("one", "middle"), ("two", "end")])
    assert whole[1].looks_at_every_second and not whole[0].looks_at_every_second and whole[0].can_be_thin

    def run(x):
        thin = whole[0](x, to_thin=True)
        assert thin.shape[1:3] == tuple(-(-one // 2) for one in side)
        return whole[1](thin, from_thin=True)

    compare_with_network(model, run, (2, *side, 8))


def test_a_dilated_convolution():
    x, kernel = values(2, 2, 9, 10, 3), values(3, 3, 3, 3, 5)
    how = {"strides": (1, 1), "padding": "same", "dilation_rate": (6, 6)}
    plain = {"padding": "same", "dilation_rate": 6}
    compare(lambda k: convolve(x, k, **how), lambda k: ops.conv(x, k, **plain), kernel, atol=1e-4)
    compare(lambda x: convolve(x, kernel, **how), lambda x: ops.conv(x, kernel, **plain), x, atol=1e-4)


def test_a_bottleneck_of_resnext_and_its_gradient():
    x = keras.Input((6, 8, 64))
    model = keras.Model(x, _bottleneck(x, 64, 2, True, "b"))
    random = np.random.default_rng(11)
    randomised(model)
    block = FusedBlock(model.input, model.output, "block")
    images, weighting = random.normal(size=(2, 6, 8, 64)), random.normal(size=(2, 3, 4, 128))
    numbers = {variable.path: np.asarray(variable.value, np.float64) for variable in model.variables}
    expected = resnext_reference.bottleneck(images, numbers, "b", 2)
    np.testing.assert_allclose(block(images.astype(np.float32)), expected, atol=1e-4)

    trainable = model.trainable_variables

    def ours(values):
        with keras.StatelessScope(state_mapping=list(zip(trainable, values, strict=True))):
            return jnp.sum(block(images.astype(np.float32)) * weighting)

    gradient = jax.grad(ours)([variable.value for variable in trainable])
    for variable, found in zip(trainable, gradient, strict=True):  # along a random direction, by difference
        way = random.normal(size=variable.shape)
        ends = [
            np.sum(weighting * resnext_reference.bottleneck(images, numbers | {variable.path: moved}, "b", 2))
            for moved in (numbers[variable.path] + 1e-6 * way, numbers[variable.path] - 1e-6 * way)
        ]
        slope = (ends[0] - ends[1]) / 2e-6
        np.testing.assert_allclose(
            np.sum(np.asarray(found) * way), slope, rtol=1e-3, atol=1e-2, err_msg=variable.path
        )
