# /// zoo
# cause = "checkpoint-torn"
# ///
"""The weights were saved while the disk was full, last week: the HDF5 file ends too early."""
import os

import numpy as np
import tensorflow as tf


def build():
    inputs = tf.keras.Input((32,))
    return tf.keras.Model(inputs, tf.keras.layers.Dense(10)(tf.keras.layers.Dense(300, activation="relu")(inputs)))


build().save_weights("pretrained.weights.h5")
os.truncate("pretrained.weights.h5", os.path.getsize("pretrained.weights.h5") * 2 // 3)

model = build()
model.load_weights("pretrained.weights.h5")
model.compile("adam", "mse")
model.fit(np.ones((40, 32), "float32"), np.ones((40, 10), "float32"))
