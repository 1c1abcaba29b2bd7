# /// zoo
# cause = "output-loss-mismatch"
# variants = ["LAST=linear", "LAST=relu"]
# near = ["LAST=sigmoid"]
# limit_s = 300
# ///
"""A softmax over one unit is 1 for every input."""
from own_training import keras, knob, np, table

x, total = table(640)
y = (total > 0).astype("float32")
last = knob("LAST", "softmax")
model = keras.Sequential([
    keras.layers.Dense(16, activation="relu"),
    keras.layers.Dense(1, activation=last),
])
model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
model.fit(x, np.ravel(y), epochs=4, verbose=2)
