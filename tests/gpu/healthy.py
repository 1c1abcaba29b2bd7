"""A model that trains on the GPU and ends well."""

import os

os.environ["KERAS_BACKEND"] = "jax"
import keras
import numpy as np

random = np.random.default_rng(1)
images = random.normal(size=(512, 64, 64, 3)).astype(np.float32)
target = images.mean(axis=(1, 2, 3), keepdims=False)[:, None] * 100
model = keras.Sequential(
    [keras.Input((64, 64, 3)), keras.layers.Conv2D(32, 3), keras.layers.GlobalAveragePooling2D()]
)
model.add(keras.layers.Dense(1))
model.compile(keras.optimizers.Adam(1e-2), "mse")
model.fit(images, target, batch_size=32, epochs=12, verbose=2)
