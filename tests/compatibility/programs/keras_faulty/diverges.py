# /// zoo
# cause = "learning-rate-too-high"
# ///
"""A learning rate ten times too high."""
import keras
import numpy as np

rng = np.random.RandomState(0)
x = rng.normal(size=(640, 16)).astype("float32")
y = (x @ rng.normal(size=(16, 1))).astype("float32")
model = keras.Sequential([keras.layers.Dense(24), keras.layers.Dense(1)])
model.compile(keras.optimizers.SGD(learning_rate=0.7), "mse")
model.fit(x, y, batch_size=32, epochs=5, verbose=2)
