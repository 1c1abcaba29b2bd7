# /// zoo
# cause = "healthy"
# ///
"""Prepares data in several processes, then trains in the parent."""
import multiprocessing

import numpy as np


def prepare(number):
    random = np.random.default_rng(number)
    block = random.normal(size=(500, 500))
    return (block @ block.T).mean(axis=0)[:4].astype("float32")


if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        x = np.stack(pool.map(prepare, range(200)))
    from own_training import network, tf, train

    train(network(), tf.data.Dataset.from_tensor_slices((x, x.sum(axis=1, keepdims=True))).batch(8), epochs=3)
