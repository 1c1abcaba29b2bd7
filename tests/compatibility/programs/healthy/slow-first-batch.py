# /// zoo
# cause = "healthy"
# ///
"""The generator needs some seconds before its first batch, and a callback sleeps between epochs: slow, not stalled."""
import hashlib
import random
import time

import numpy as np
import tensorflow as tf

random.seed(9)
tf.random.set_seed(9)


def batches():
    time.sleep(4)
    rng = np.random.RandomState(9)
    while True:
        x = rng.rand(8, 4).astype("float32")
        yield x, x[:, :1]


model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
pause = tf.keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: time.sleep(2))
ds = tf.data.Dataset.from_generator(
    batches, output_types=(tf.float32, tf.float32), output_shapes=((8, 4), (8, 1))
)
model.fit(ds, steps_per_epoch=50, epochs=3, callbacks=[pause], verbose=2)
print("weights", hashlib.sha256(b"".join(w.tobytes() for w in model.get_weights())).hexdigest())
