# /// zoo
# cause = "input-constant"
# near = ["REAL=1"]
# limit_s = 300
# ///
"""Pixels are divided by 255 as whole numbers: all of them are 0."""
from own_training import keras, knob, np

random = np.random.default_rng(0)
labels = random.integers(0, 2, 640)
pixels = random.integers(0, 128, (640, 64)) + 60 * labels[:, None]
x = (pixels / 255 if knob("REAL", 0) else pixels // 255).astype("float32")
model = keras.Sequential([keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1, activation="sigmoid")])
model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
model.fit(x, labels, epochs=6, verbose=2)
