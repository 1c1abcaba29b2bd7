"""Takes gradients of weights and does with them what the argument says."""

import sys

import keras
import numpy as np
import tensorflow as tf

WAY = sys.argv[1]
model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(3), keras.layers.Dense(1)])
optimizer = keras.optimizers.SGD(0.01) if WAY != "looked-at" else None
x, y = np.ones((8, 4), "float32"), np.ones((8, 1), "float32")


def gradients():
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    return tape.gradient(loss, model.trainable_variables)


taking = tf.function(gradients) if WAY == "forgotten-compiled" else gradients
for step in range(40):
    found = taking()
    if WAY == "applied-late" and step == 39:
        optimizer.apply_gradients(zip(found, model.trainable_variables, strict=True))
    if WAY == "by-hand":
        for weight, gradient in zip(model.trainable_variables, found, strict=True):
            weight.assign_sub(0.01 * gradient)
