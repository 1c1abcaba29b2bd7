"""No fit: a tf.function step with validation, an eager loop, train_on_batch; and a function traced each time."""

import sys

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(3)
model = keras.Sequential(
    [
        keras.Input((8,)),
        keras.layers.Dense(8, activation="relu"),
        keras.layers.Dropout(0.3),
        keras.layers.Dense(1),
    ]
)
optimizer = keras.optimizers.Adam(1e-2)
error = keras.losses.MeanSquaredError()
x = np.random.default_rng(0).random((64, 8), dtype="float32")
y = x[:, :1]
train = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(64, seed=3).batch(8)
held_out = tf.data.Dataset.from_tensor_slices((x[:24], y[:24])).batch(8)


@tf.function
def train_step(images, targets):
    with tf.GradientTape() as tape:
        loss = error(targets, model(images, training=True))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    return loss, tf.reduce_sum(targets)


@tf.function
def check_step(images, targets):
    return error(targets, model(images))


for _ in range(3):
    for images, targets in train:
        train_step(images, targets)
    for images, targets in held_out:
        check_step(images, targets)

for images, targets in train.take(5):
    with tf.GradientTape() as tape:
        loss = error(targets, model(images, training=True))
    optimizer.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)

model.compile("sgd", "mse")
for _ in range(4):
    model.train_on_batch(x[:8], y[:8])


@tf.function
def scaled(value, factor):
    return value * factor


for factor in range(9):
    scaled(tf.constant(1.0), factor)
np.save(sys.argv[1], np.concatenate([weight.numpy().ravel() for weight in model.weights]))
