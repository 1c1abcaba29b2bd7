# /// zoo
# cause = "healthy"
# ///
"""Workers come and go because the pool replaces each after a few tasks."""
import multiprocessing

import numpy as np


def make(number):
    x = np.random.default_rng(number).normal(size=(8, 4)).astype("float32")
    return x, x.sum(axis=1, keepdims=True)


if __name__ == "__main__":
    pool = multiprocessing.get_context("fork").Pool(2, maxtasksperchild=10)
    from own_training import network, tf, train

    shapes = (tf.TensorSpec((None, 4)), tf.TensorSpec((None, 1)))
    train(network(), tf.data.Dataset.from_generator(lambda: pool.imap(make, range(150)), output_signature=shapes), epochs=2)
    pool.close()
    pool.join()
