# /// zoo
# cause = "script-error"
# ///
"""The model takes 28 x 28 values; the second half of the pipeline was changed to 32 x 32."""
import numpy as np
import tensorflow as tf

model = tf.keras.Sequential([
    tf.keras.layers.Dense(64, activation="relu", input_shape=(784,)),
    tf.keras.layers.Dense(10, activation="softmax"),
])
model.compile("sgd", "categorical_crossentropy")

x = np.random.RandomState(0).rand(128, 32 * 32).astype("float32")
y = np.eye(10, dtype="float32")[np.random.RandomState(1).randint(0, 10, 128)]
model.fit(x, y, epochs=2)
