# /// zoo
# cause = "validation-never-ends"
# limit_s = 600
# ///
"""The validation generator loops forever, and validation_steps was forgotten."""
import numpy as np
import tensorflow as tf


def generate(seed):
    rng = np.random.RandomState(seed)
    while True:
        x = rng.rand(16, 5).astype("float32")
        yield x, (x[:, 0] > x[:, 1]).astype("float32")


model = tf.keras.Sequential([
    tf.keras.layers.Dense(10, activation="relu"),
    tf.keras.layers.Dense(1, activation="sigmoid"),
])
model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
model.fit(generate(0), steps_per_epoch=30, epochs=3, validation_data=generate(1), verbose=2)
