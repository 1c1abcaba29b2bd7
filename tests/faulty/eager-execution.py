# /// zoo
# cause = "eager-execution"
# variants = ["HOW=global"]
# near = ["HOW=graph", "STEPS=3"]
# limit_s = 300
# ///
"""Runs every operation by itself instead of a compiled step."""
from own_training import batches, keras, knob, tf

how = knob("HOW", "compile")
if how == "global":
    tf.config.run_functions_eagerly(True)
layers = keras.layers
model = keras.Sequential([*(layers.Dense(32, activation="relu") for _ in range(12)), layers.Dense(1)])
model.compile("adam", "mse", run_eagerly=how == "compile" and not knob("STEPS", 0))
model.fit(batches(8 * (knob("STEPS", 0) or 100)), epochs=2, verbose=2)
