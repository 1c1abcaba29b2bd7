"""Two evaluations over datasets without an end, after steps: one by a function, one eager; then some with an end."""

import contextlib
import itertools

import tensorflow as tf

variable = tf.Variable([1.0])
optimizer = tf.keras.optimizers.SGD(0.1)
optimizer.build([variable])
data = tf.data.Dataset.from_tensor_slices(tf.ones((8, 1))).batch(2)


class Enough(Exception):
    pass


@tf.function
def step(batch):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((batch * variable) ** 2)
    optimizer.apply_gradients([(tape.gradient(loss, variable), variable)])
    return loss


@tf.function
def score(batch):
    return tf.reduce_sum(batch * variable)


def stop_at(number, last=200):
    if number == last:
        raise Enough


def evaluate(dataset):
    for number, batch in enumerate(dataset):  # a function
        stop_at(number)
        score(batch)


def evaluate_eagerly(dataset):
    for number, batch in enumerate(dataset):  # eager
        stop_at(number)
        batch.numpy().sum()


def evaluate_some(dataset):
    for batch in itertools.islice(dataset, 60):
        score(batch)


for batch in data:
    step(batch)
evaluate_some(data.repeat())
for one in (evaluate, evaluate_eagerly):
    with contextlib.suppress(Enough):
        one(data.repeat())
    for batch in itertools.islice(data.repeat(), 4):
        step(batch)
