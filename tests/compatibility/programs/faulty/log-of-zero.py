# /// zoo
# cause = ["loss-singular", "loss-not-finite"]
# ///
"""A hand-written cross-entropy without an epsilon: relu outputs reach zero and the logarithm does not exist there."""
import numpy as np
import tensorflow as tf


def my_crossentropy(y_true, y_pred):
    return -tf.reduce_mean(y_true * tf.math.log(y_pred) + (1.0 - y_true) * tf.math.log(1.0 - y_pred))


rng = np.random.RandomState(3)
x = rng.normal(size=(256, 5)).astype("float32")
y = (x[:, :1] > 0).astype("float32")

model = tf.keras.Sequential([
    tf.keras.layers.Dense(8, activation="relu"),
    tf.keras.layers.Dense(1, activation="relu"),
])
model.compile(optimizer=tf.keras.optimizers.Adam(0.01), loss=my_crossentropy)
model.fit(x, y, batch_size=16, epochs=4, verbose=2)
