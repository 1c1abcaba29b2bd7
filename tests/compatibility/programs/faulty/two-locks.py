# /// zoo
# cause = "deadlock"
# limit_s = 600
# ///
"""The logger thread takes the statistics and then the file; the training takes the file and then the statistics."""
import threading
import time

import numpy as np
import tensorflow as tf

file_lock, stats_lock = threading.Lock(), threading.Lock()
stats = {"seen": 0}


def logger():
    while True:
        with stats_lock:
            time.sleep(0.2)
            with file_lock:
                with open("log.txt", "a") as file:
                    file.write("%d\n" % stats["seen"])
        time.sleep(0.05)


model = tf.keras.Sequential([tf.keras.layers.Dense(8, activation="tanh"), tf.keras.layers.Dense(2)])
model.compile("sgd", "mse")
rng = np.random.RandomState(0)
threading.Thread(target=logger, daemon=True).start()
for step in range(2000):
    x = rng.rand(16, 6).astype("float32")
    loss = model.train_on_batch(x, x[:, :2])
    with file_lock:
        time.sleep(0.01)
        with stats_lock:
            stats["seen"] += len(x)
    if step % 20 == 0:
        print("step", step, loss)
