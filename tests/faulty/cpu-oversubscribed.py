# /// zoo
# cause = "cpu-oversubscribed"
# alone = true
# limit_s = 300
# variants = ["COUNT=20"]
# near = ["COUNT=1 MS=5"]
# ///
"""Starts many more busy processes than there are cores."""
import multiprocessing
import os
import time

import numpy as np


def make(number):
    until = time.process_time() + int(os.environ.get("MS", 100)) / 1000
    while time.process_time() < until:
        x = np.random.default_rng(number).normal(size=(8, 4)).astype("float32")
    return x, x.sum(axis=1, keepdims=True)


if __name__ == "__main__":
    count = int(os.environ.get("COUNT", 12)) * (os.cpu_count() or 2) // 2
    pool = multiprocessing.get_context("fork").Pool(max(count, 1))
    from own_training import keras, tf, train

    shapes = (tf.TensorSpec((None, 4)), tf.TensorSpec((None, 1)))
    model = keras.Sequential([keras.layers.Dense(2000, activation="relu"), keras.layers.Dense(2000, activation="relu"), keras.layers.Dense(1)])
    train(model, tf.data.Dataset.from_generator(lambda: pool.imap(make, range(600)), output_signature=shapes), epochs=1)
    pool.terminate()
