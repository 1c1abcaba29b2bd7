"""A loop that gets nothing three times, one that asks an iterator which is at its end, and one with a bad box."""

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


def boxes():
    for number in range(40):
        corners = [10.0, 10.0, 50.0 + number, 60.0]
        yield np.array(corners if number != 33 else [50.0, 10.0, 10.0, 60.0], "float32")


for four in tf.data.Dataset.from_generator(boxes, output_signature=tf.TensorSpec((4,))).batch(4):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((tf.math.log(four[:, 2] - four[:, 0]) - four @ weight / 100) ** 2)
    optimizer.apply_gradients([(tape.gradient(loss, weight), weight)])
