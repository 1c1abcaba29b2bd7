"""Two fits with dropout and shuffling; the first is stopped by a callback, the second left by an exception."""

import sys

import keras
import numpy as np

keras.utils.set_random_seed(7)


class Stopper(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        if epoch == 2:
            self.model.stop_training = True


class Raiser(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        if batch == 3:
            raise ValueError("the fourth batch")


model = keras.Sequential(
    [
        keras.Input((4,)),
        keras.layers.Dense(8, activation="relu"),
        keras.layers.Dropout(0.3),
        keras.layers.Dense(1),
    ]
)
model.compile("adam", "mse", metrics=["mae"])
x = np.random.default_rng(0).random((200, 4), dtype="float32")
y = x.sum(axis=1, keepdims=True)
patience = keras.callbacks.EarlyStopping("val_loss", patience=50)
model.fit(x, y, epochs=6, batch_size=16, validation_split=0.2, callbacks=[Stopper(), patience], verbose=0)
model.predict(x[:32], verbose=0)
np.save(sys.argv[1], np.concatenate([weight.numpy().ravel() for weight in model.weights]))
model.fit(x, y, epochs=2, callbacks=[Raiser()], verbose=0)
