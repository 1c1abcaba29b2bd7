"""On JAX: fit with dropout, batch normalisation and shuffling, then a loop with stateless_apply over tf.data."""

import os
import sys

os.environ["KERAS_BACKEND"] = "jax"
import jax
import keras
import numpy as np

keras.utils.set_random_seed(5)
model = keras.Sequential(
    [
        keras.Input((8,)),
        keras.layers.Dense(8, activation="relu"),
        keras.layers.BatchNormalization(),
        keras.layers.Dropout(0.3),
        keras.layers.Dense(1),
    ]
)
model.compile("adam", "mse")
x = np.random.default_rng(0).random((64, 8), dtype="float32")
y = x[:, :1]
model.fit(x, y, epochs=3, batch_size=8, verbose=0, validation_split=0.25)

import tensorflow as tf  # noqa: E402

optimizer = keras.optimizers.SGD(1e-2)
optimizer.build(model.trainable_variables)
error = keras.losses.MeanSquaredError()


def loss_of(trainable, other, images, targets):
    predicted, other = model.stateless_call(trainable, other, images, training=True)
    return error(targets, predicted), other


gradient_of = jax.value_and_grad(loss_of, has_aux=True)


@jax.jit
def step(state, images, targets):
    trainable, other, slots = state
    (loss, other), gradients = gradient_of(trainable, other, images, targets)
    trainable, slots = optimizer.stateless_apply(slots, gradients, trainable)
    return loss, (trainable, other, slots)


state = tuple(
    [variable.value for variable in group]
    for group in (model.trainable_variables, model.non_trainable_variables, optimizer.variables)
)
train = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(64, seed=1).batch(8)
for _ in range(2):
    for images, targets in train:
        loss, state = step(state, images.numpy(), targets.numpy())
values = [np.asarray(weight).ravel() for weight in [*model.weights, *state[0]]]
np.save(sys.argv[1], np.concatenate(values))
