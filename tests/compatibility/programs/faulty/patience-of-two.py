# /// zoo
# cause = "early-stopping"
# ///
"""Asked for two hundred epochs, EarlyStopping ends it long before: nothing can be learnt from random labels."""
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)
x, y = rng.rand(300, 8).astype("float32"), rng.randint(0, 2, 300).astype("float32")
model = tf.keras.Sequential([
    tf.keras.layers.Dense(64, activation="relu"),
    tf.keras.layers.Dense(1, activation="sigmoid"),
])
model.compile(optimizer=tf.keras.optimizers.Adam(0.02), loss="binary_crossentropy")
stop = tf.keras.callbacks.EarlyStopping(monitor="val_loss", patience=2, restore_best_weights=True)
model.fit(x, y, epochs=200, validation_split=0.3, callbacks=[stop], verbose=0)
print("done")
