"""Images in arrays, whose labels belong to other images."""

import os

os.environ.setdefault("KERAS_BACKEND", "tensorflow")

import keras
import numpy as np

chance = np.random.default_rng(0)
images = np.repeat(chance.random((360, 6, 6, 3)).astype("float32"), 2, axis=1).repeat(2, axis=2)
labels = chance.integers(0, 2, 360)
images[labels == 1, 2:6, 2:6] = 1.0
chance.shuffle(labels)
keras.utils.set_random_seed(0)
model = keras.Sequential([keras.layers.GlobalAveragePooling2D(), keras.layers.Dense(1, activation="sigmoid")])
model.compile(keras.optimizers.SGD(0.01), "binary_crossentropy", jit_compile=False)
model.fit(images, labels, epochs=3, batch_size=90, verbose=0)
