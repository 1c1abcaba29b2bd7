# /// zoo
# cause = ["generator-exhausted", "dataset-exhausted"]
# ///
"""The reader loops over its files once; fit asks for four epochs of them."""
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(1)
files = [(rng.rand(8, 6).astype("float32"), rng.rand(8, 1).astype("float32")) for _ in range(20)]


def read_files():
    for features, target in files:
        yield features, target


inputs = tf.keras.Input(shape=(6,))
hidden = tf.keras.layers.Dense(12, activation="tanh")(inputs)
model = tf.keras.Model(inputs, tf.keras.layers.Dense(1)(hidden))
model.compile(optimizer=tf.keras.optimizers.SGD(learning_rate=0.01), loss="mse")
model.fit(read_files(), steps_per_epoch=20, epochs=4)
model.save_weights("final.weights.h5")
