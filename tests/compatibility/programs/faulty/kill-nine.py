# /// zoo
# cause = "killed-from-outside"
# send = {signal = "SIGKILL"}
# ///
"""Somebody ends it with kill -9 while it trains."""
import os

import numpy as np
import tensorflow as tf

x = np.random.RandomState(0).rand(4096, 16).astype("float32")
model = tf.keras.Sequential([tf.keras.layers.Dense(64, activation="relu"), tf.keras.layers.Dense(16)])
model.compile("adam", "mse")


def announce(epoch, logs):
    if epoch == 3:
        with open("ready", "w") as file:
            file.write(str(os.getpid()))


model.fit(
    x, x, epochs=5000, batch_size=64, verbose=2,
    callbacks=[tf.keras.callbacks.LambdaCallback(on_epoch_end=announce)],
)
