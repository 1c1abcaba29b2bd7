# /// zoo
# cause = "metric-mismatch"
# near = ["METRIC=mae"]
# limit_s = 300
# ///
"""Accuracy of a regression is 0, however well it learns."""
from own_training import keras, knob, table

x, y = table(640)
model = keras.Sequential([keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1)])
model.compile("adam", "mse", metrics=[knob("METRIC", "accuracy")])
model.fit(x, y, epochs=8, verbose=2)
