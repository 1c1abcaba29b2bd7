# /// zoo
# cause = "healthy"
# ///
"""fit with arrays, validation and the usual callbacks."""
import hashlib

import keras
import numpy as np

keras.utils.set_random_seed(0)
x = np.random.normal(size=(400, 10)).astype("float32")
y = (x[:, :1] > 0).astype("float32")
model = keras.Sequential([
    keras.layers.Dense(16, activation="relu"), keras.layers.Dropout(0.2), keras.layers.Dense(1, activation="sigmoid"),
])
model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
callbacks = [
    keras.callbacks.EarlyStopping(patience=20, restore_best_weights=True),
    keras.callbacks.ModelCheckpoint("best.keras", save_best_only=True),
    keras.callbacks.ReduceLROnPlateau(patience=3),
]
model.fit(x, y, epochs=5, batch_size=20, validation_split=0.2, callbacks=callbacks, verbose=2)
print("weights", hashlib.sha256(b"".join(np.asarray(w).tobytes() for w in model.get_weights())).hexdigest())
