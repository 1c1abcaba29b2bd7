# /// zoo
# cause = "callback-raised"
# ///
"""The callback divides by a counter that is still zero."""
import keras
import numpy as np


class Average(keras.callbacks.Callback):
    total, count = 0.0, 0

    def on_train_batch_end(self, batch, logs=None):
        if batch % 50 == 49:
            self.total, self.count = self.total + logs["loss"], self.count + 1

    def on_epoch_end(self, epoch, logs=None):
        print("average", self.total / self.count)


x = np.random.RandomState(0).rand(160, 4).astype("float32")
model = keras.Sequential([keras.layers.Dense(2)])
model.compile("adam", "mse")
model.fit(x, x[:, :2], batch_size=16, epochs=2, callbacks=[Average()], verbose=2)
