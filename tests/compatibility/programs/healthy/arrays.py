# /// zoo
# cause = "healthy"
# ///
"""fit with arrays and a validation split."""
import hashlib
import random

import numpy as np
import tensorflow as tf

random.seed(0)
np.random.seed(0)
tf.random.set_seed(0)
x = np.random.normal(size=(400, 10)).astype("float32")
y = (x[:, 0] - x[:, 1] > 0).astype("float32")
model = tf.keras.Sequential([
    tf.keras.layers.Dense(16, activation="relu"),
    tf.keras.layers.Dropout(0.2),
    tf.keras.layers.Dense(1, activation="sigmoid"),
])
model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
model.fit(x, y, epochs=4, batch_size=20, validation_split=0.2, verbose=2)
print("weights", hashlib.sha256(b"".join(w.tobytes() for w in model.get_weights())).hexdigest())
