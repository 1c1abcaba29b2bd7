# /// zoo
# cause = "exploding-gradients"
# near = ["SPREAD=0.15"]
# limit_s = 300
# ///
"""Weights that double what passes at each of twelve layers: the gradient at the first ones is beyond all measure."""
from own_tables import fit, two_classes
from own_training import keras, knob

x, y = two_classes()
wide = keras.initializers.RandomNormal(stddev=knob("SPREAD", 1.5), seed=1)
hidden = [keras.layers.Dense(32, activation="softsign", kernel_initializer=wide) for _ in range(12)]
fit(hidden, x, y, optimizer=keras.optimizers.SGD(0.01, clipnorm=1.0))
