# /// zoo
# cause = "class-id-out-of-range"
# ///
"""Ten classes, numbered from one to ten as in the annotation file."""
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(5)
x = rng.rand(400, 12).astype("float32")
y = rng.randint(1, 11, size=400)

ds = tf.data.Dataset.from_tensor_slices((x, y)).batch(25).prefetch(1)
model = tf.keras.Sequential([
    tf.keras.layers.Dense(24, activation="relu"),
    tf.keras.layers.Dense(10, activation="softmax"),
])
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
model.fit(ds, epochs=3, verbose=2)
