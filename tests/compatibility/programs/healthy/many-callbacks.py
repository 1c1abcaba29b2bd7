# /// zoo
# cause = "healthy"
# ///
"""The usual callbacks together; EarlyStopping is there and does not fire."""
import hashlib
import random

import numpy as np
import tensorflow as tf

random.seed(6)
tf.random.set_seed(6)
x = np.random.RandomState(6).normal(size=(300, 6)).astype("float32")
y = x @ np.arange(6, dtype="float32").reshape(6, 1)
model = tf.keras.Sequential([tf.keras.layers.Dense(20, activation="relu"), tf.keras.layers.Dense(1)])
model.compile(tf.keras.optimizers.Adam(0.01), "mse")
callbacks = [
    tf.keras.callbacks.EarlyStopping(patience=20, restore_best_weights=True),
    tf.keras.callbacks.ReduceLROnPlateau(factor=0.5, patience=3, min_lr=1e-4),
    tf.keras.callbacks.ModelCheckpoint("best.h5", save_best_only=True),
    tf.keras.callbacks.TensorBoard("logs"),
    tf.keras.callbacks.CSVLogger("history.csv"),
    tf.keras.callbacks.TerminateOnNaN(),
]
model.fit(x, y, validation_split=0.2, epochs=8, batch_size=24, callbacks=callbacks, verbose=2)
print("weights", hashlib.sha256(b"".join(w.tobytes() for w in model.get_weights())).hexdigest())
