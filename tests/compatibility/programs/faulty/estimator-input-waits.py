# /// zoo
# cause = "input-blocked"
# needs = "estimator"
# limit_s = 600
# ///
"""The input_fn of an estimator reads from a pipe; its writer stays alive and writes no more."""
import os
import threading
import time

import numpy as np
import tensorflow as tf

tf.compat.v1.logging.set_verbosity(tf.compat.v1.logging.INFO)
os.mkfifo("records")


def writer():
    with open("records", "wb", buffering=0) as file:
        for number in range(200):
            file.write(np.full(6, number % 10, "float32").tobytes())
        time.sleep(1e6)


threading.Thread(target=writer, daemon=True).start()


def from_pipe():
    with open("records", "rb", buffering=0) as file:
        while True:
            yield np.frombuffer(file.read(24), "float32") / 10.0


def input_fn():
    ds = tf.data.Dataset.from_generator(from_pipe, output_types=tf.float32, output_shapes=(6,))
    return ds.map(lambda row: ({"x": row}, tf.reduce_sum(row, keepdims=True))).batch(4)


def model_fn(features, labels, mode):
    output = tf.compat.v1.layers.dense(features["x"], 1)
    loss = tf.reduce_mean(tf.abs(output - labels))
    train_op = tf.compat.v1.train.AdamOptimizer(0.01).minimize(loss, tf.compat.v1.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


config = tf.estimator.RunConfig(model_dir="model", log_step_count_steps=10, save_summary_steps=10)
tf.estimator.Estimator(model_fn, config=config).train(input_fn, steps=1000)
