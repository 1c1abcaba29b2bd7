# /// zoo
# cause = "monitor-missing"
# ///
"""val_acc became val_accuracy years ago; EarlyStopping and ModelCheckpoint never do anything."""
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)
x, y = rng.rand(200, 6).astype("float32"), rng.randint(0, 2, 200)
model = tf.keras.Sequential([
    tf.keras.layers.Dense(8, activation="relu"), tf.keras.layers.Dense(2, activation="softmax"),
])
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
callbacks = [
    tf.keras.callbacks.EarlyStopping(monitor="val_acc", patience=3),
    tf.keras.callbacks.ModelCheckpoint("best.h5", monitor="val_acc", save_best_only=True),
]
model.fit(x, y, validation_split=0.2, epochs=6, callbacks=callbacks, verbose=2)
