# /// zoo
# cause = "learning-rate-too-high"
# near = ["RATE=0.003"]
# limit_s = 300
# ///
"""Each step replaces the weights; the loss stays finite and nothing is learnt."""
from own_tables import exclusive_or, fit
from own_training import keras, knob

x, y = exclusive_or()
fit([keras.layers.Dense(32, activation="relu") for _ in range(3)], x, y, optimizer=keras.optimizers.Adam(knob("RATE", 3.0)), epochs=10)
