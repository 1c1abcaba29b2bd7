# /// zoo
# cause = ["learning-rate-too-high", "stopped-on-nan", "loss-not-finite"]
# needs = "estimator"
# ///
"""An estimator with its own hooks; its NaN hook ends the training."""
import numpy as np
import tensorflow as tf

tf.compat.v1.logging.set_verbosity(tf.compat.v1.logging.INFO)
rng = np.random.RandomState(0)
x = rng.normal(size=(256, 8)).astype("float32")
y = (x @ rng.normal(size=(8, 1))).astype("float32")


def input_fn():
    return tf.data.Dataset.from_tensor_slices(({"x": x}, y)).repeat().batch(32)


def model_fn(features, labels, mode):
    hidden = tf.keras.layers.Dense(16)(features["x"])
    output = tf.keras.layers.Dense(1)(hidden)
    loss = tf.reduce_mean(tf.square(output - labels))
    optimizer = tf.compat.v1.train.GradientDescentOptimizer(1.5)
    train_op = optimizer.minimize(loss, global_step=tf.compat.v1.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


class Printer(tf.estimator.SessionRunHook):
    def before_run(self, context):
        return tf.estimator.SessionRunArgs(tf.compat.v1.train.get_global_step())

    def after_run(self, context, values):
        if values.results % 20 == 0:
            print("global step", values.results)


estimator = tf.estimator.Estimator(model_fn, model_dir="model")
estimator.train(input_fn, steps=400, hooks=[Printer()])
