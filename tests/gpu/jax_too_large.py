"""A Keras model on JAX whose activations do not fit into any GPU."""

import os

os.environ["KERAS_BACKEND"] = "jax"
import keras
import numpy as np

layers = keras.layers
model = keras.Sequential([keras.Input((2048, 2048, 3))])
for _ in range(6):
    model.add(layers.Conv2D(256, 3, padding="same", activation="relu"))
model.add(layers.GlobalAveragePooling2D())
model.add(layers.Dense(1))
model.compile("adam", "mse")
images = np.zeros((64, 2048, 2048, 3), np.uint8)
model.fit(images, np.zeros((64, 1), np.float32), batch_size=64, epochs=1, verbose=2)
