# /// zoo
# cause = "nothing-trainable"
# ///
"""Everything is frozen."""
import keras
import numpy as np

model = keras.Sequential([keras.layers.Dense(8, activation="relu"), keras.layers.Dense(1)])
model.trainable = False
model.compile("adam", "mse")
x = np.random.RandomState(0).rand(160, 4).astype("float32")
model.fit(x, x[:, :1], epochs=4, verbose=2)
