# /// zoo
# cause = "healthy"
# ///
"""A Sequence for training, then an endless generator with steps_per_epoch."""
import hashlib
import random

import numpy as np
import tensorflow as tf

np.random.seed(2)
random.seed(2)
tf.random.set_seed(2)


class Batches(tf.keras.utils.Sequence):
    def __init__(self, count):
        super().__init__()
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        rng = np.random.RandomState(index)
        x = rng.rand(8, 5).astype("float32")
        return x, x.sum(axis=1, keepdims=True)


def endless():
    number = 0
    while True:
        rng = np.random.RandomState(1000 + number)
        x = rng.rand(8, 5).astype("float32")
        yield x, x.sum(axis=1, keepdims=True)
        number += 1


model = tf.keras.Sequential([tf.keras.layers.Dense(12, activation="relu"), tf.keras.layers.Dense(1)])
model.compile("rmsprop", "mse")
model.fit(Batches(30), epochs=3, shuffle=False, verbose=2)
model.fit(endless(), steps_per_epoch=20, epochs=3, verbose=2)
print("weights", hashlib.sha256(b"".join(w.tobytes() for w in model.get_weights())).hexdigest())
