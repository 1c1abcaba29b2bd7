"""A loop that gets nothing three times, then one that asks an iterator which is at its end."""

import numpy as np
import tensorflow as tf

nothing = tf.data.Dataset.from_tensor_slices(np.zeros((0, 4), "float32")).filter(lambda one: True)
for _ in range(3):
    for _batch in nothing.batch(2):
        raise AssertionError

weight = tf.Variable(tf.ones((4, 1)))
optimizer = tf.keras.optimizers.SGD(0.1)
iterator = iter(tf.data.Dataset.from_tensor_slices(np.ones((6, 4), "float32")).batch(2))
for _ in range(3):
    for _ in range(3):
        batch = next(iterator, None)
        if batch is None:
            break
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((batch @ weight) ** 2)
        optimizer.apply_gradients([(tape.gradient(loss, weight), weight)])
