# /// zoo
# cause = "healthy"
# ///
"""A score that has no bound is made as large as it gets: its loss falls far below zero."""
from own_training import keras, np

random = np.random.default_rng(0)
x, y = random.random((256, 8), "float32"), random.random((256, 1), "float32")
model = keras.Sequential([keras.layers.Dense(64, activation="relu"), keras.layers.Dense(1)])
model.compile(keras.optimizers.Adam(1e-2), lambda wanted, given: -keras.ops.mean(given))
model.fit(x, y, epochs=12, batch_size=16, verbose=2)
