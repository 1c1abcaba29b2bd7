"""Asks a tape for the gradients of a model of which every layer is frozen; one way gives them back in the end."""

import sys

import keras
import numpy as np
import tensorflow as tf

WAY = sys.argv[1]
model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(3), keras.layers.Dense(1)])
model.trainable = False
optimizer = keras.optimizers.Adam(0.01)
x, y = np.ones((8, 4), "float32"), np.ones((8, 1), "float32")


def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    weights = model.trainable_variables
    gradients = tape.gradient(loss, weights)
    if WAY != "compiled-unapplied":
        optimizer.apply(gradients, weights)
    return loss


taking = tf.function(step) if WAY.startswith("compiled") else step
for number in range(40):
    if WAY == "unfrozen" and number == 35:
        model.trainable = True
    taking(x, y)
