# /// zoo
# cause = "loss-not-finite"
# variants = ["AT=61"]
# near = ["AT=100000"]
# ///
"""The loss becomes NaN at one step, out of nowhere that could be seen, and stays so."""
from own_training import batches, knob, network, tf, train

seen = tf.Variable(0, dtype=tf.int64)


def loss(truth, predicted):
    value = tf.reduce_mean((truth - predicted) ** 2, axis=1)
    return value * tf.where(seen.assign_add(1) == knob("AT", 37), float("nan"), 1.0)


train(network(), batches(320), epochs=4, loss=loss)
