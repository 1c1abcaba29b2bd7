# /// zoo
# cause = "healthy"
# ///
"""A loop over train_on_batch."""
import hashlib

import keras
import numpy as np

keras.utils.set_random_seed(2)
rng = np.random.RandomState(2)
model = keras.Sequential([keras.layers.Dense(10, activation="tanh"), keras.layers.Dense(3)])
model.compile("adam", "mae")
for step in range(200):
    x = rng.rand(16, 6).astype("float32")
    loss = model.train_on_batch(x, x[:, :3] * 2)
    if step % 50 == 0:
        print("step", step, "loss", loss)
model.save("trained.keras")
print("weights", hashlib.sha256(b"".join(np.asarray(w).tobytes() for w in model.get_weights())).hexdigest())
