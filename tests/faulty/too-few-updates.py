# /// zoo
# cause = "too-few-updates"
# near = ["BATCH=16 EPOCHS=20"]
# limit_s = 300
# ///
"""One batch of all rows: five epochs are five updates."""
from own_tables import exclusive_or, fit
from own_training import keras, knob

x, y = exclusive_or()
fit([keras.layers.Dense(32, activation="tanh")], x, y, batch=knob("BATCH", 640), epochs=knob("EPOCHS", 5), optimizer=keras.optimizers.Adam(0.001))
