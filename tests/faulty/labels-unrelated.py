# /// zoo
# cause = "labels-unrelated"
# near = ["REAL=1"]
# limit_s = 300
# ///
"""The rows are shuffled, and their labels are not."""
from own_training import keras, knob, np, table

x, total = table(960)
y = (np.ravel(total) > 0).astype("float32")
order = np.random.default_rng(1).permutation(len(x))
x, y = x[order], y[order] if knob("REAL", 0) else y
model = keras.Sequential([keras.layers.Dense(8, activation="relu"), keras.layers.Dense(1, activation="sigmoid")])
model.compile(keras.optimizers.SGD(0.05), "binary_crossentropy", metrics=["accuracy"])
model.fit(x, y, epochs=8, verbose=2)
