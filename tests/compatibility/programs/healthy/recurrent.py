# /// zoo
# cause = "healthy"
# ///
"""An LSTM over short sequences of words, saved, loaded and trained further."""
import hashlib
import random

import numpy as np
import tensorflow as tf

random.seed(8)
tf.random.set_seed(8)
rng = np.random.RandomState(8)
words = rng.randint(1, 50, size=(240, 12))
label = (words[:, 0] > 25).astype("float32")


def build():
    model = tf.keras.Sequential([
        tf.keras.layers.Embedding(50, 8),
        tf.keras.layers.LSTM(12),
        tf.keras.layers.Dense(1, activation="sigmoid"),
    ])
    model.compile("adam", "binary_crossentropy")
    model.build((None, 12))
    return model


model = build()
model.fit(words, label, epochs=3, batch_size=24, shuffle=False, verbose=2)
model.save_weights("words.weights.h5")
model = build()
model.load_weights("words.weights.h5")
model.fit(words, label, epochs=2, batch_size=24, shuffle=False, verbose=2)
print("weights", hashlib.sha256(b"".join(w.tobytes() for w in model.get_weights())).hexdigest())
