# /// zoo
# cause = ["loss-not-falling", "dead-units"]
# variants = ["LOOP=custom"]
# near = ["REAL=1"]
# limit_s = 300
# ///
"""Every unit is dead, so nothing is learnt however long it runs."""
from own_training import batches, keras, knob, train

bias = "zeros" if knob("REAL", 0) else keras.initializers.Constant(-50.0)
model = keras.Sequential([keras.layers.Dense(16, activation="relu", bias_initializer=bias), keras.layers.Dense(1, use_bias=False)])
train(model, batches(800), epochs=12, optimizer=keras.optimizers.Adam(1e-3))
