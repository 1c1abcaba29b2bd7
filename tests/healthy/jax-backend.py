# /// zoo
# cause = "healthy"
# ///
"""Keras on JAX."""
import os

os.environ["KERAS_BACKEND"] = "jax"
import keras
import numpy as np

random = np.random.default_rng(0)
x = random.normal(size=(800, 4)).astype("float32")
model = keras.Sequential([keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1)])
model.compile("adam", "mse")
model.fit(x, x.sum(axis=1, keepdims=True), validation_split=0.2, batch_size=16, epochs=4, verbose=2)
