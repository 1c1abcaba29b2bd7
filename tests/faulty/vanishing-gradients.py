# /// zoo
# cause = "vanishing-gradients"
# near = ["ACTIVATION=relu"]
# limit_s = 300
# ///
"""Ten sigmoid layers in a row: nothing of the gradient reaches the first ones."""
from own_tables import fit, two_classes
from own_training import keras, knob

x, y = two_classes()
hidden = [keras.layers.Dense(32, activation=knob("ACTIVATION", "sigmoid")) for _ in range(10)]
fit(hidden, x, y, optimizer=keras.optimizers.SGD(0.05))
