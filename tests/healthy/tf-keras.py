# /// zoo
# cause = "healthy"
# ///
"""The old Keras 2, as many scripts still use it."""
import os

os.environ["TF_USE_LEGACY_KERAS"] = "1"
import numpy as np
import tensorflow as tf

x = np.random.default_rng(0).normal(size=(800, 4)).astype("float32")
model = tf.keras.Sequential([tf.keras.layers.Dense(16, activation="relu"), tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(tf.data.Dataset.from_tensor_slices((x, x.sum(axis=1, keepdims=True))).batch(8), epochs=4, verbose=2)
