"""A fit whose callback fits another model at the end of each epoch."""

import keras
import numpy as np


def model(name):
    made = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)], name=name)
    made.compile("sgd", "mse")
    return made


x, y = np.ones((40, 4), "float32"), np.ones((40, 1), "float32")
helper = model("helper")


class Distil(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        helper.fit(x, y, batch_size=4, epochs=2, verbose=0)


model("outer").fit(x, y, batch_size=8, epochs=2, verbose=0, callbacks=[Distil()])
