# /// zoo
# cause = "healthy"
# ///
"""A loop over train_on_batch with test_on_batch in between."""
import hashlib
import random

import numpy as np
import tensorflow as tf

random.seed(3)
tf.random.set_seed(3)
rng = np.random.RandomState(3)
model = tf.keras.Sequential([tf.keras.layers.Dense(10, activation="tanh"), tf.keras.layers.Dense(3)])
model.compile("adam", "mae")
for step in range(300):
    x = rng.rand(16, 6).astype("float32")
    loss = model.train_on_batch(x, x[:, :3] * 2)
    if step % 50 == 0:
        check = rng.rand(16, 6).astype("float32")
        print("step", step, "train", loss, "test", model.test_on_batch(check, check[:, :3] * 2))
print("weights", hashlib.sha256(b"".join(w.tobytes() for w in model.get_weights())).hexdigest())
