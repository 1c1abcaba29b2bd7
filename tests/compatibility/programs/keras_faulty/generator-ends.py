# /// zoo
# cause = ["generator-exhausted", "dataset-exhausted"]
# ///
"""A generator over twelve batches, four epochs."""
import keras
import numpy as np


def batches():
    for number in range(12):
        x = np.random.RandomState(number).rand(8, 4).astype("float32")
        yield x, x.sum(axis=1, keepdims=True)


model = keras.Sequential([keras.layers.Dense(8, activation="relu"), keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(batches(), epochs=4, verbose=2)
