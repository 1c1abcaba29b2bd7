# /// zoo
# cause = "shapes-broadcast"
# near = ["REAL=1"]
# limit_s = 300
# ///
"""One target for each sequence, and an answer for each of its steps: every pair of them is compared."""
from own_training import keras, knob, np

random = np.random.default_rng(0)
x = random.normal(size=(320, 6, 2)).astype("float32")
y = x.sum(axis=(1, 2))
model = keras.Sequential([
    keras.layers.SimpleRNN(16, return_sequences=not knob("REAL", 0)),
    keras.layers.Dense(1),
])
model.compile("adam", "mse")
model.fit(x, y, epochs=6, verbose=2)
