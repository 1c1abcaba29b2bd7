# /// zoo
# cause = "constant-initialisation"
# variants = ["START=ones"]
# near = ["START=glorot_uniform"]
# limit_s = 300
# ///
"""All weights start as zeros: every unit computes the same, and no gradient passes."""
from own_tables import exclusive_or, fit
from own_training import keras, knob

x, y = exclusive_or()
start = knob("START", "zeros")
fit([keras.layers.Dense(16, activation="tanh", kernel_initializer=start) for _ in range(2)], x, y, epochs=12)
