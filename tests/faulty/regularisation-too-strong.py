# /// zoo
# cause = "regularisation-too-strong"
# near = ["PENALTY=0.0001"]
# limit_s = 300
# ///
"""A penalty on the weights so strong that the cheapest weights are zeros."""
from own_tables import fit, two_classes
from own_training import keras, knob

x, y = two_classes()
penalty = keras.regularizers.L2(knob("PENALTY", 10.0))
hidden = [keras.layers.Dense(16, activation="relu", kernel_regularizer=penalty) for _ in range(2)]
fit(hidden, x, y, epochs=10, optimizer=keras.optimizers.Adam(0.01))
