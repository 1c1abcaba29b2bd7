# /// zoo
# cause = ["worker-died", "input-blocked"]
# limit_s = 600
# ///
"""train_on_batch in a loop; the thread that loads ends with an exception and the loop waits for its queue."""
import queue
import threading

import numpy as np
import tensorflow as tf

loaded = queue.Queue(4)


def load_all():
    for number in range(300):
        if number == 120:
            raise ValueError("image 120 has no annotation")
        x = np.random.RandomState(number).rand(8, 10).astype("float32")
        loaded.put((x, x[:, :1]))


threading.Thread(target=load_all, daemon=True).start()
model = tf.keras.Sequential([tf.keras.layers.Dense(16, activation="relu"), tf.keras.layers.Dense(1)])
model.compile("adam", "mse")
for step in range(300):
    x, y = loaded.get()
    loss = model.train_on_batch(x, y)
    if step % 20 == 0:
        print("step", step, "loss", loss)
