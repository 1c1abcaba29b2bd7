# /// zoo
# cause = ["stopped-on-nan", "learning-rate-too-high"]
# ///
"""TerminateOnNaN is among the callbacks, and the loss becomes NaN."""
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(2)
x = rng.normal(size=(400, 10)).astype("float32") * 3
y = x[:, :1] * 2 - x[:, 1:2]
model = tf.keras.Sequential([tf.keras.layers.Dense(30), tf.keras.layers.Dense(30), tf.keras.layers.Dense(1)])
model.compile(tf.keras.optimizers.SGD(learning_rate=0.5, momentum=0.9), "mse")
model.fit(x, y, epochs=10, batch_size=20, callbacks=[tf.keras.callbacks.TerminateOnNaN()], verbose=2)
