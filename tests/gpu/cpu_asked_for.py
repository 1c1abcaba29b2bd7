"""There is a GPU, and the CPU was asked for: no fault."""

import os

os.environ["KERAS_BACKEND"] = "jax"
os.environ["JAX_PLATFORMS"] = "cpu"
import keras
import numpy as np

model = keras.Sequential([keras.Input((64, 64, 3)), keras.layers.Conv2D(32, 3), keras.layers.Flatten()])
model.add(keras.layers.Dense(1))
model.compile("adam", "mse")
model.fit(
    np.zeros((512, 64, 64, 3), np.float32), np.zeros((512, 1), np.float32), batch_size=16, epochs=8, verbose=2
)
