# /// zoo
# cause = "callback-raised"
# ///
"""The callback was copied from a script that had validation data."""
import numpy as np
import tensorflow as tf


class BestSoFar(tf.keras.callbacks.Callback):
    def on_train_begin(self, logs=None):
        self.best = 0.0

    def on_epoch_end(self, epoch, logs=None):
        if logs["val_accuracy"] > self.best:
            self.best = logs["val_accuracy"]
            self.model.save_weights("best.weights.h5")


x = np.random.RandomState(0).rand(200, 7).astype("float32")
y = np.random.RandomState(1).randint(0, 3, 200)
model = tf.keras.Sequential([tf.keras.layers.Dense(16, activation="relu"), tf.keras.layers.Dense(3)])
model.compile(
    "adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"]
)
model.fit(x, y, epochs=5, batch_size=20, callbacks=[BestSoFar()])
