# /// zoo
# cause = "healthy"
# ///
"""tf.data with shuffle, map, repeat and steps_per_epoch; a validation dataset with its own steps."""
import hashlib
import random

import numpy as np
import tensorflow as tf

np.random.seed(1)
random.seed(1)
tf.random.set_seed(1)
x = np.random.rand(300, 8, 8, 3).astype("float32")
y = (x.mean(axis=(1, 2, 3)) > 0.5).astype("int32")
train = tf.data.Dataset.from_tensor_slices((x[:240], y[:240])).shuffle(240, seed=3)
train = train.map(lambda a, b: (a * 2.0 - 1.0, b)).batch(16).repeat().prefetch(2)
val = tf.data.Dataset.from_tensor_slices((x[240:] * 2.0 - 1.0, y[240:])).batch(20)
model = tf.keras.Sequential([
    tf.keras.layers.Conv2D(6, 3, activation="relu"),
    tf.keras.layers.BatchNormalization(),
    tf.keras.layers.GlobalMaxPooling2D(),
    tf.keras.layers.Dense(2),
])
model.compile(
    tf.keras.optimizers.SGD(learning_rate=0.05, momentum=0.9),
    tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)
model.fit(train, steps_per_epoch=15, epochs=4, validation_data=val, validation_steps=3, verbose=2)
print(model.evaluate(val, verbose=0))
print("weights", hashlib.sha256(b"".join(w.tobytes() for w in model.get_weights())).hexdigest())
