# /// zoo
# cause = "no-hidden-activation"
# near = ["ACTIVATION=relu"]
# limit_s = 300
# ///
"""Three dense layers without an activation are one linear layer: they cannot learn an exclusive or."""
from own_tables import exclusive_or, fit
from own_training import keras, knob

x, y = exclusive_or()
activation = knob("ACTIVATION", "") or None
fit([keras.layers.Dense(32, activation=activation) for _ in range(3)], x, y, epochs=12)
