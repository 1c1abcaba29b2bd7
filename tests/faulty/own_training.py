"""A small training library of one's own, as teams have: the programs beside it train through it.

LOOP chooses how: `fit`, `custom` (a GradientTape inside a tf.function) or `batch` (train_on_batch).
"""

import os
import time
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np
import tensorflow as tf


def knob(name, default):
    return type(default)(os.environ.get(name, default))


def ready():
    """Tell whoever watches from outside that the interesting part has begun."""
    Path("ready").write_text(str(os.getpid()))


def time_passes(step):
    """A step as long as a real one."""
    time.sleep(knob("STEP_S", 0.01))


def network(outputs=1, width=8, activation=None):
    return keras.Sequential([keras.layers.Dense(width, activation="relu"), keras.layers.Dense(outputs, activation=activation)])


def picture_network(outputs=1):
    layers = keras.layers
    return keras.Sequential([layers.Conv2D(4, 3, strides=4), layers.GlobalAveragePooling2D(), layers.Dense(outputs)])


def table(rows, columns=4, seed=0):
    random = np.random.default_rng(knob("SEED", seed))
    x = random.normal(size=(rows, columns)).astype("float32")
    return x, (x.sum(axis=1, keepdims=True) * 0.5).astype("float32")


def batches(rows, batch=8, columns=4):
    return tf.data.Dataset.from_tensor_slices(table(rows, columns)).batch(batch)


def train(model, data, *, epochs=1, loss="mse", optimizer="sgd", on_step=None, on_epoch=None, callbacks=(), **more):
    how = knob("LOOP", "fit")
    if how == "fit":
        model.compile(optimizer, loss, **more.pop("compile", {}))
        own = keras.callbacks.LambdaCallback(
            on_train_batch_end=(lambda step, logs: on_step(step)) if on_step else None,
            on_epoch_end=(lambda epoch, logs: on_epoch(epoch)) if on_epoch else None,
        )
        extra = [own] if on_step or on_epoch else []
        return model.fit(data, epochs=epochs, verbose=2, callbacks=[*callbacks, *extra], **more)
    measure, rule = keras.losses.get(loss), keras.optimizers.get(optimizer)
    model.compile(rule, loss)

    @tf.function(reduce_retracing=True)
    def step_function(x, y):
        with tf.GradientTape() as tape:
            value = tf.reduce_mean(measure(y, model(x, training=True)))
        rule.apply_gradients(zip(tape.gradient(value, model.trainable_variables), model.trainable_variables))
        return value

    for epoch in range(epochs):
        for step, (x, y) in enumerate(data):
            value = step_function(x, y) if how == "custom" else model.train_on_batch(x, y)
            if on_step:
                on_step(step)
        if on_epoch:
            on_epoch(epoch)
        print(f"epoch {epoch + 1} of {epochs}: loss {float(np.mean(value)):.4f}", flush=True)
