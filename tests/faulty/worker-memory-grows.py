# /// zoo
# cause = "worker-memory-grows"
# leads_to = "killed-for-memory"
# memory_mib = 1600
# variants = ["MIB=8", "LOOP=fit"]
# near = ["MIB=0"]
# limit_s = 300
# stall_after_s = 30
# ///
"""Forked loader processes keep what they load; the parent's own memory stays flat."""
import multiprocessing
import os

import numpy as np

mib, steps = int(os.environ.get("MIB", 4)), 150 if os.environ.get("MIB") == "0" else 4000
memory = []


def load(number):
    if mib:
        memory.append(np.full(mib << 18, number, "float32"))
    random = np.random.default_rng(number)
    x = random.normal(size=(8, 4)).astype("float32")
    return x, x.sum(axis=1, keepdims=True)


if __name__ == "__main__":
    pool = multiprocessing.get_context("fork").Pool(2)
    from own_training import network, tf, train  # after the fork, so that the children stay small

    def examples():
        yield from pool.imap(load, range(steps))

    shapes = (tf.TensorSpec((None, 4)), tf.TensorSpec((None, 1)))
    train(network(), tf.data.Dataset.from_generator(examples, output_signature=shapes), epochs=1)
    pool.terminate()
