# /// zoo
# cause = "targets-not-scaled"
# near = ["REAL=1"]
# limit_s = 300
# ///
"""House prices in dollars, and a network that starts at 0."""
from own_training import keras, knob, table

x, y = table(640)
prices = 210_000.0 + 80_000.0 * y
if knob("REAL", 0):
    prices = (prices - prices.mean()) / prices.std()
model = keras.Sequential([keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1)])
model.compile("adam", "mse")
model.fit(x, prices, epochs=8, verbose=2)
