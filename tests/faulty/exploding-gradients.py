# /// zoo
# cause = "exploding-gradients"
# near = ["SPREAD=0.25"]
# limit_s = 300
# ///
"""Weights that quadruple what passes at each of ten layers: the gradient is beyond all measure, clipped or not."""
from own_tables import fit, two_classes
from own_training import keras, knob

x, y = two_classes()
wide = keras.initializers.RandomNormal(stddev=knob("SPREAD", 1.0), seed=1)
hidden = [keras.layers.Dense(32, activation="relu", kernel_initializer=wide) for _ in range(10)]
fit(hidden, x, y, optimizer=keras.optimizers.SGD(0.001, clipnorm=1.0))
