"""A rematerialised block on each backend: the same gradient, of weights that are tensors in a stateless scope too."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.hot

BLOCK = """
import keras, numpy as np
from keras import layers, ops
from holdfast.detectors.fusion.remat import rematerialised

class Around(layers.Layer):
    # a layer of mixed precision casts every weight that is read inside it

    def call(self, x, block, lean):
        for _ in range(2):
            x = rematerialised(block, x, training=False) if lean else block(x, training=False)
        return x


class Folding(keras.Model):
    # reads its weights in full precision, as the backbones' blocks do

    def __init__(self, start, end):
        super().__init__(start, end)
        self.autocast = False

    def call(self, x, training=None, mask=None):
        kernel, bias = (self.layers[1].kernel, self.layers[1].bias)
        x = ops.conv(ops.cast(x, "float32"), kernel * 1.001, padding="same") + bias
        return ops.cast(self.layers[-1](self.layers[-2](self.layers[-3](x))), self.compute_dtype)


def compare(policy, within):
    keras.utils.set_random_seed(3)
    keras.config.set_dtype_policy(policy)
    x = inputs = keras.Input((6, 6, 2))
    x = layers.Conv2D(4, 3, padding="same")(x)
    x = layers.BatchNormalization()(x)
    block = Folding(inputs, layers.ReLU()(layers.Conv2D(2, 3, padding="same")(x)))
    around = Around()
    variables = block.trainable_variables
    fixed = block.non_trainable_variables
    picture = np.random.default_rng(0).normal(size=(2, 6, 6, 2)).astype("float32")

    def loss(weights, lean):
        pairs = [*zip(variables, weights), *zip(fixed, [ops.convert_to_tensor(one.value) for one in fixed])]
        with keras.StatelessScope(state_mapping=pairs):
            found = around(ops.convert_to_tensor(picture), block=block, lean=lean)
            return ops.sum(ops.square(ops.cast(found, "float32")))

    def gradients(lean):
        if keras.backend.backend() == "jax":
            import jax
            return jax.jit(jax.value_and_grad(lambda weights: loss(weights, lean)))([one.value for one in variables])
        import tensorflow as tf

        @tf.function(autograph=False)
        def both():
            weights = [tf.convert_to_tensor(one.value) for one in variables]
            with tf.GradientTape() as tape:
                tape.watch(weights)
                found = loss(weights, lean)
            return found, tape.gradient(found, weights, unconnected_gradients="zero")

        return both()

    (plain, wanted), (lean, got) = gradients(False), gradients(True)
    np.testing.assert_allclose(np.asarray(lean), np.asarray(plain), rtol=within)
    for one, other in zip(wanted, got, strict=True):
        scale = max(1.0, float(np.abs(np.asarray(one)).max()))
        np.testing.assert_allclose(np.asarray(other), np.asarray(one), atol=scale * within)
    assert all(np.abs(np.asarray(one)).max() > 1e-3 for one in got[:1])  # not lost in a closure
    print("equal:", policy)


compare("float32", 1e-5)
compare("mixed_bfloat16", 1e-2)
"""


@pytest.mark.parametrize("backend", ["tensorflow", "jax"])
def test_a_block_computed_twice_has_the_same_gradient(backend):
    environment = {
        **os.environ,
        "KERAS_BACKEND": backend,
        "JAX_PLATFORMS": "cpu",
        "TF_CPP_MIN_LOG_LEVEL": "3",
    }
    command = [sys.executable, "-c", BLOCK]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-2:] == ["equal: float32", "equal: mixed_bfloat16"], done.stderr[-1500:]
