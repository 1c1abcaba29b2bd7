# /// zoo
# cause = "early-stopping"
# ///
"""EarlyStopping on noise."""
import keras
import numpy as np

rng = np.random.RandomState(0)
x, y = rng.rand(200, 4).astype("float32"), rng.rand(200, 1).astype("float32")
model = keras.Sequential([keras.layers.Dense(64, activation="relu"), keras.layers.Dense(1)])
model.compile(keras.optimizers.Adam(0.05), "mse")
model.fit(x, y, epochs=100, validation_split=0.3, callbacks=[keras.callbacks.EarlyStopping(patience=1)], verbose=0)
