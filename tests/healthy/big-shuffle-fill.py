# /// zoo
# cause = "healthy"
# ///
"""Fills a large shuffle buffer, slowly, before the first step, and then trains for a long epoch."""
import time

from own_training import keras, network, np, tf, train


def load(number):
    time.sleep(0.01)
    return np.full(4, number % 3, "float32"), np.ones(1, "float32")


data = tf.data.Dataset.range(1500).map(lambda n: tf.numpy_function(load, (n,), (tf.float32, tf.float32)))
data = data.map(lambda x, y: (tf.ensure_shape(x, (4,)), tf.ensure_shape(y, (1,)))).shuffle(1200).batch(4)
train(network(), data, epochs=1)
