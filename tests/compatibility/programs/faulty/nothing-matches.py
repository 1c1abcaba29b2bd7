# /// zoo
# cause = "dataset-empty"
# ///
"""The filter keeps label 7, and the labels of this file end at 4."""
import numpy as np
import tensorflow as tf

x = np.random.RandomState(0).rand(100, 3).astype("float32")
y = np.random.RandomState(0).randint(0, 5, 100)
ds = tf.data.Dataset.from_tensor_slices((x, y)).filter(lambda a, label: tf.equal(label, 7)).batch(10)
model = tf.keras.Sequential([tf.keras.layers.Dense(10, activation="softmax")])
model.compile("adam", "sparse_categorical_crossentropy")
model.fit(ds, epochs=3)
