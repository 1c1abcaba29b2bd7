# /// zoo
# cause = "saturated-units"
# near = ["SPREAD=0.3"]
# limit_s = 300
# ///
"""Weights drawn far too wide: every tanh sits at -1 or 1, and no gradient passes."""
from own_tables import exclusive_or, fit
from own_training import keras, knob

x, y = exclusive_or()
wide = keras.initializers.RandomNormal(stddev=knob("SPREAD", 200.0), seed=1)
hidden = [keras.layers.Dense(32, activation="tanh", kernel_initializer=wide) for _ in range(4)]
fit(hidden, x, y, optimizer=keras.optimizers.SGD(0.01))
