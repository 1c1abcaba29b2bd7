# /// zoo
# cause = "learning-rate-too-low"
# variants = ["RULE=Adadelta RATE=0.001"]
# near = ["RATE=0.001"]
# limit_s = 300
# ///
"""A learning rate a hundred thousand times too low."""
from own_tables import exclusive_or, fit
from own_training import keras, knob

x, y = exclusive_or()
rule = getattr(keras.optimizers, knob("RULE", "Adam"))(knob("RATE", 1e-8))
fit([keras.layers.Dense(16, activation="relu")], x, y, optimizer=rule)
