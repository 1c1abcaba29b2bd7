# /// zoo
# cause = "input-blocked"
# limit_s = 600
# ///
"""The generator takes batches from a queue that nobody fills any more."""
import queue

import keras
import numpy as np

waiting = queue.Queue()
for number in range(30):
    x = np.random.RandomState(number).rand(8, 4).astype("float32")
    waiting.put((x, x[:, :1]))


def batches():
    while True:
        yield waiting.get()


model = keras.Sequential([keras.layers.Dense(8, activation="relu"), keras.layers.Dense(1)])
model.compile("adam", "mse")
model.fit(batches(), steps_per_epoch=50, epochs=2, verbose=2)
