# /// zoo
# cause = "batch-norm-misused"
# variants = ["BATCH=16"]
# near = ["BATCH=32 MOMENTUM=0.9 EPOCHS=20"]
# limit_s = 300
# ///
"""Batch normalisation with one row at a time; or with so few updates that its averages do not fit."""
from own_tables import fit, two_classes
from own_training import keras, knob

batch = knob("BATCH", 1)
x, y = two_classes(160)
if batch > 1:
    x = x * 20 + 60  # far from the mean of 0 and the variance of 1 that the averages begin with
norm = keras.layers.BatchNormalization(momentum=knob("MOMENTUM", 0.99))
fit([keras.layers.Dense(32, activation="relu"), norm, keras.layers.Dense(16, activation="relu")], x, y, batch=batch, epochs=knob("EPOCHS", 6), optimizer=keras.optimizers.Adam(0.01))
