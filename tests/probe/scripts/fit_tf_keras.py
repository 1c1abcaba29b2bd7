"""Keras 2 as tf_keras: a fit that is stopped, one that runs out of data, a save, a load that loses the optimizer."""

import sys

import numpy as np
import tensorflow as tf
import tf_keras as keras

keras.utils.set_random_seed(1)
model = keras.Sequential(
    [
        keras.layers.Input((8,)),
        keras.layers.Dense(8, activation="relu"),
        keras.layers.Dropout(0.3),
        keras.layers.Dense(1),
    ]
)
model.compile("adam", "mse")
x = np.random.default_rng(0).random((64, 8), dtype="float32")
y = x[:, :1]


class Stopper(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        if epoch == 1:
            self.model.stop_training = True


saver = keras.callbacks.ModelCheckpoint(sys.argv[1] + ".keras")
model.fit(x, y, epochs=5, batch_size=8, verbose=0, validation_split=0.25, callbacks=[Stopper(), saver])
dataset = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(20, seed=2).batch(8)
model.fit(dataset, epochs=3, steps_per_epoch=5, verbose=0)
np.save(sys.argv[1], np.concatenate([weight.numpy().ravel() for weight in model.weights]))
