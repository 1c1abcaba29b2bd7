# /// zoo
# cause = "callback-blocked"
# limit_s = 600
# ///
"""The callback waits for an event of an uploader that has already ended."""
import threading

import keras
import numpy as np

uploaded = threading.Event()


class Upload(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        self.model.save_weights("epoch.weights.h5")
        uploaded.wait()


x = np.random.RandomState(0).rand(160, 4).astype("float32")
model = keras.Sequential([keras.layers.Dense(2)])
model.compile("adam", "mse")
model.fit(x, x[:, :2], epochs=3, callbacks=[Upload()], verbose=2)
