# /// zoo
# cause = "output-range-mismatch"
# near = ["LAST=linear"]
# limit_s = 300
# ///
"""A sigmoid ends a regression whose targets are prices."""
from own_training import keras, knob, table

x, y = table(640)
y = 250.0 + 60.0 * y
model = keras.Sequential([
    keras.layers.Dense(16, activation="relu"),
    keras.layers.Dense(1, activation=knob("LAST", "sigmoid")),
])
model.compile(keras.optimizers.Adam(0.5), "mse")
model.fit(x, y, epochs=8, verbose=2)
