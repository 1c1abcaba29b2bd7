# /// zoo
# cause = "waiting-for-a-person"
# stdin = "open"
# limit_s = 600
# ///
"""Asks whether to overwrite the model, on a machine where nobody sits."""
import os

import numpy as np
import tensorflow as tf

x = np.random.RandomState(0).rand(100, 4).astype("float32")
model = tf.keras.Sequential([tf.keras.layers.Dense(2)])
model.compile("sgd", "mse")
for fold in range(2):
    model.fit(x, x[:, :2], epochs=2, verbose=2)
    if os.path.exists("model.weights.h5") and input("overwrite model.weights.h5? [y/n] ") != "y":
        break
    model.save_weights("model.weights.h5")
