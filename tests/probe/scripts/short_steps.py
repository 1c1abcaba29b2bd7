"""Steps of a millisecond, far more than the first two hundred; how it ends is the first argument."""

import os
import signal
import sys

import keras
import numpy as np

STEPS = 400
x = np.ones((8 * STEPS, 4), "float32")
y = np.zeros((8 * STEPS, 1), "float32")


def at_end(batch, logs):
    if batch == 313:
        os.kill(os.getpid(), signal.SIGKILL)


def at_epoch_end(epoch, logs):
    raise ValueError("the first epoch is enough")


callbacks = []
if sys.argv[1] == "killed":
    callbacks = [keras.callbacks.LambdaCallback(on_train_batch_end=at_end)]
elif sys.argv[1] == "raises":
    callbacks = [keras.callbacks.LambdaCallback(on_epoch_end=at_epoch_end)]
elif sys.argv[1] == "breaks":
    y[8 * 313] = np.nan
elif sys.argv[1] == "stops":
    y[8 * 313] = np.nan
    callbacks = [keras.callbacks.TerminateOnNaN()]

model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(x, y, batch_size=8, epochs=1, shuffle=False, verbose=0, callbacks=callbacks)
