# /// zoo
# cause = "healthy"
# ///
"""A PyDataset, then an endless generator with steps_per_epoch."""
import hashlib

import keras
import numpy as np

keras.utils.set_random_seed(1)


class Batches(keras.utils.PyDataset):
    def __len__(self):
        return 25

    def __getitem__(self, index):
        x = np.random.RandomState(index).rand(8, 5).astype("float32")
        return x, x.sum(axis=1, keepdims=True)


def endless():
    rng = np.random.RandomState(1)
    while True:
        x = rng.rand(8, 5).astype("float32")
        yield x, x.sum(axis=1, keepdims=True)


model = keras.Sequential([keras.layers.Dense(12, activation="relu"), keras.layers.Dense(1)])
model.compile("rmsprop", "mse")
model.fit(Batches(), epochs=3, shuffle=False, verbose=2)
model.fit(endless(), steps_per_epoch=20, epochs=3, verbose=2)
print("weights", hashlib.sha256(b"".join(np.asarray(w).tobytes() for w in model.get_weights())).hexdigest())
