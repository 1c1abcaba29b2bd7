# /// zoo
# cause = "cardinality-changes"
# variants = ["SIZES=20,11,25,9"]
# near = ["SIZES=12,12,12,12"]
# ///
"""The dataset yields another number of batches in every epoch."""
from itertools import count

from own_training import knob, network, np, tf, train

sizes = [int(n) for n in knob("SIZES", "10,6,14,5").split(",")]
passes = count()


def examples():
    for _ in range(sizes[next(passes) % len(sizes)]):
        x = np.random.default_rng(0).normal(size=(8, 4)).astype("float32")
        yield x, x.sum(axis=1, keepdims=True)


data = tf.data.Dataset.from_generator(examples, output_signature=(tf.TensorSpec((None, 4)), tf.TensorSpec((None, 1))))
train(network(), data, epochs=len(sizes))
