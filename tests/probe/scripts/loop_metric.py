"""A loop as the tutorials have it: the loss goes into a metric inside the tf.function, and nowhere else."""

import sys

import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(3)
random = np.random.default_rng(0)
x = random.normal(size=(64, 4)).astype("float32")
y = (x @ random.normal(size=(4, 1))).astype("float32")
data = tf.data.Dataset.from_tensor_slices((x, y)).batch(8)
model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD(0.05)
compare = tf.keras.losses.MeanSquaredError()
other, mean = tf.keras.metrics.Mean(name="size"), tf.keras.metrics.Mean(name="train")
shown = []


@tf.function
def train_step(a, b):
    with tf.GradientTape() as tape:
        predicted = model(a)
        loss = compare(b, predicted)
    other(tf.abs(predicted))
    if sys.argv[2:] == ["first"]:
        mean(loss)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    if sys.argv[2:] != ["first"]:
        mean.update_state(loss)


for _ in range(2):
    mean.reset_state()
    for a, b in data:
        train_step(a, b)
    shown.append(float(mean.result()))
np.save(sys.argv[1], np.concatenate([weight.numpy().ravel() for weight in model.weights]))
print(shown)
