# /// zoo
# cause = "input-blocked"
# limit_s = 600
# ///
"""A feeder thread puts forty batches into a queue and finishes; the generator waits for the forty-first."""
import queue
import threading

import numpy as np
import tensorflow as tf

buffer = queue.Queue(maxsize=8)


def feeder():
    rng = np.random.RandomState(0)
    for _ in range(40):
        images = rng.rand(4, 8, 8, 1).astype("float32")
        buffer.put((images, images.mean(axis=(1, 2, 3))))


threading.Thread(target=feeder, daemon=True).start()


def batches():
    while True:
        yield buffer.get()


model = tf.keras.Sequential([
    tf.keras.layers.Conv2D(4, 3, activation="relu"),
    tf.keras.layers.Flatten(),
    tf.keras.layers.Dense(1),
])
model.compile("adam", "mse")
model.fit(batches(), steps_per_epoch=100, epochs=2, verbose=2)
