# /// zoo
# cause = "nothing-trainable"
# ///
"""The backbone was to be frozen; the loop over the layers freezes the new head as well."""
import numpy as np
import tensorflow as tf

backbone = tf.keras.Sequential([
    tf.keras.layers.Conv2D(4, 3, activation="relu", input_shape=(16, 16, 3)),
    tf.keras.layers.GlobalAveragePooling2D(),
])
model = tf.keras.Sequential([backbone, tf.keras.layers.Dense(2, activation="softmax")])
for layer in model.layers:
    layer.trainable = False
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])

rng = np.random.RandomState(0)
x, y = rng.rand(160, 16, 16, 3).astype("float32"), rng.randint(0, 2, 160)
model.fit(x, y, epochs=5, batch_size=16, verbose=2)
