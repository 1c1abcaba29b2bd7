# /// zoo
# cause = "dropout-too-strong"
# near = ["RATE=0.2"]
# limit_s = 300
# ///
"""A dropout of 0.97 where 0.03 was meant."""
from own_tables import exclusive_or, fit
from own_training import keras, knob

x, y = exclusive_or()
drop = [keras.layers.Dropout(knob("RATE", 0.97), seed=1) for _ in range(2)]
fit([keras.layers.Dense(32, activation="relu"), drop[0], keras.layers.Dense(32, activation="relu"), drop[1]], x, y, epochs=12)
