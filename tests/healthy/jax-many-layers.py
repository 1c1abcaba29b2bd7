# /// zoo
# cause = "healthy"
# ///
"""A model of many layer shapes on JAX, and few steps: each shape is compiled once while the model is built."""
import os

os.environ["KERAS_BACKEND"] = "jax"
import keras
import numpy as np

inputs = x = keras.Input((16,))
for layer in range(20):
    x = keras.layers.Dense(16 + 2 * layer, activation="relu")(x)
model = keras.Model(inputs, keras.layers.Dense(1)(x))
model.compile("adam", "mse")
rows = np.random.RandomState(0).rand(256, 16).astype("float32")
model.fit(rows, rows.sum(1), batch_size=32, epochs=1, verbose=2)
