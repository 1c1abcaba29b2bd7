# /// zoo
# cause = "disk-full"
# tmpfs_mib = 12
# ///
"""A checkpoint is kept for every epoch, on a small volume."""
import numpy as np
import tensorflow as tf

x = np.random.RandomState(0).rand(64, 256).astype("float32")
y = np.random.RandomState(1).rand(64, 256).astype("float32")
model = tf.keras.Sequential([
    tf.keras.layers.Dense(1000, activation="relu", input_shape=(256,)),
    tf.keras.layers.Dense(256),
])
model.compile("sgd", "mse")
keep_all = tf.keras.callbacks.ModelCheckpoint("small/epoch-{epoch:03d}.weights.h5", save_weights_only=True)
model.fit(x, y, epochs=30, batch_size=16, callbacks=[keep_all], verbose=2)
