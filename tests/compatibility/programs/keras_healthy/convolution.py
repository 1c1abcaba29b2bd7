# /// zoo
# cause = "healthy"
# ///
"""A small convolutional model with two inputs, saved, loaded and trained further."""
import hashlib

import keras
import numpy as np

keras.utils.set_random_seed(3)
image = np.random.rand(160, 12, 12, 1).astype("float32")
meta = np.random.rand(160, 3).astype("float32")
image_in, meta_in = keras.Input((12, 12, 1)), keras.Input((3,))
features = keras.layers.Flatten()(keras.layers.Conv2D(4, 3, activation="relu")(image_in))
output = keras.layers.Dense(1)(keras.layers.Concatenate()([features, meta_in]))
model = keras.Model([image_in, meta_in], output)
model.compile("adam", "mse")
model.fit([image, meta], meta.sum(axis=1), epochs=3, batch_size=16, shuffle=False, verbose=2)
model.save("two-inputs.keras")
model = keras.models.load_model("two-inputs.keras")
model.fit([image, meta], meta.sum(axis=1), epochs=3, batch_size=16, shuffle=False, verbose=2)
print("weights", hashlib.sha256(b"".join(np.asarray(w).tobytes() for w in model.get_weights())).hexdigest())
