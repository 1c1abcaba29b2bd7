# /// zoo
# cause = "exit-hang"
# limit_s = 600
# ///
"""Training is done and saved; a monitoring thread that is no daemon waits for an event."""
import threading

import numpy as np
import tensorflow as tf

finished = threading.Event()
threading.Thread(target=finished.wait, name="gpu-monitor").start()

x = np.random.RandomState(0).rand(100, 3).astype("float32")
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(x, x[:, :1], epochs=3, verbose=2)
model.save_weights("done.weights.h5")
print("finished")
