# /// zoo
# cause = "dataset-exhausted"
# ///
"""Sixty records in batches of four, and steps_per_epoch was computed for the larger dataset of last week."""
import numpy as np
import tensorflow as tf

BATCH = 4
NUM_TRAIN = 240

x = np.random.RandomState(0).rand(60, 10).astype("float32")
y = (x.sum(axis=1) > 5).astype("int32")
train_ds = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(60).batch(BATCH)

model = tf.keras.Sequential([
    tf.keras.layers.Dense(16, activation="relu"),
    tf.keras.layers.Dense(2, activation="softmax"),
])
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
history = model.fit(train_ds, epochs=5, steps_per_epoch=NUM_TRAIN // BATCH, verbose=2)
print(history.history["accuracy"])
