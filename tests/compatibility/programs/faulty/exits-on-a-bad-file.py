# /// zoo
# cause = "script-error"
# ///
"""The reader gives up on a line that it does not like: sys.exit in the middle of the training."""
import sys

import numpy as np
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(4, activation="relu"), tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")


def read(number):
    if number == 57:
        print("bad line in part-%d.csv" % number)
        sys.exit(3)
    rng = np.random.RandomState(number)
    x = rng.rand(8, 3).astype("float32")
    return x, x.sum(axis=1, keepdims=True)


for number in range(100):
    x, y = read(number)
    loss = model.train_on_batch(x, y)
print("final loss", loss)
