# /// zoo
# cause = "native-crash"
# ///
"""A decoder of the user's own, called through ctypes, reads where nothing is."""
import ctypes

import numpy as np
import tensorflow as tf


def decode(number):
    if int(number) == 50:
        ctypes.string_at(8)
    return np.full(6, number, "float32") / 100


ds = tf.data.Dataset.range(100).map(lambda i: tf.ensure_shape(tf.numpy_function(decode, [i], tf.float32), (6,)))
ds = ds.map(lambda x: (x, x[:1])).batch(2)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(ds, epochs=2, verbose=2)
