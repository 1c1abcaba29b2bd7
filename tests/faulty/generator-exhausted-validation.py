# /// zoo
# cause = "generator-exhausted"
# near = ["AGAIN=1"]
# ///
"""The generator of the validation ends with its first pass."""
from own_training import keras, knob, np

again = knob("AGAIN", 0)
random = np.random.default_rng(0)
x, y = random.random((256, 4), "float32"), random.random((256, 1), "float32")


def held_out():
    while True:
        for at in range(0, 64, 8):
            yield x[at : at + 8], y[at : at + 8]
        if not again:
            return


model = keras.Sequential([keras.layers.Dense(8, activation="relu"), keras.layers.Dense(1)])
model.compile("adam", "mse")
model.fit(x, y, epochs=5, verbose=2, validation_data=held_out(), validation_steps=8)
