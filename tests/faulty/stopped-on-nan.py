# /// zoo
# cause = ["stopped-on-nan", "loss-not-finite"]
# variants = ["AT=11"]
# near = ["AT=100000"]
# ///
"""TerminateOnNaN ends the training with exit status 0."""
from own_training import batches, keras, knob, network, tf

seen = tf.Variable(0, dtype=tf.int64)


def loss(truth, predicted):
    value = tf.reduce_mean((truth - predicted) ** 2)
    return tf.where(seen.assign_add(1) == knob("AT", 37), float("nan"), value)


model = network()
model.compile("sgd", loss)
model.fit(batches(160), epochs=10, callbacks=[keras.callbacks.TerminateOnNaN()], verbose=2)
