# /// zoo
# cause = "healthy"
# ///
"""A functional model with two inputs and two outputs, weighted losses."""
import hashlib
import random

import numpy as np
import tensorflow as tf

random.seed(7)
tf.random.set_seed(7)
rng = np.random.RandomState(7)
image, meta = rng.rand(200, 12, 12, 1).astype("float32"), rng.rand(200, 3).astype("float32")
kind, size = rng.randint(0, 3, 200), meta.sum(axis=1, keepdims=True)

image_in = tf.keras.Input((12, 12, 1), name="image")
meta_in = tf.keras.Input((3,), name="meta")
features = tf.keras.layers.Flatten()(tf.keras.layers.Conv2D(4, 3, activation="relu")(image_in))
both = tf.keras.layers.Concatenate()([features, meta_in])
model = tf.keras.Model(
    [image_in, meta_in],
    [tf.keras.layers.Dense(3, activation="softmax", name="kind")(both), tf.keras.layers.Dense(1, name="size")(both)],
)
model.compile(
    "adam",
    loss={"kind": "sparse_categorical_crossentropy", "size": "mse"},
    loss_weights={"kind": 1.0, "size": 0.5},
)
ds = tf.data.Dataset.from_tensor_slices(({"image": image, "meta": meta}, {"kind": kind, "size": size})).batch(20)
model.fit(ds, epochs=4, verbose=2)
print(model.predict(ds.take(1), verbose=0)[1][:2].ravel())
print("weights", hashlib.sha256(b"".join(w.tobytes() for w in model.get_weights())).hexdigest())
