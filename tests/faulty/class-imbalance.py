# /// zoo
# cause = "class-imbalance"
# near = ["WEIGHT=30"]
# limit_s = 300
# ///
"""Three parts in a hundred are broken, and none of them is found."""
from own_training import keras, knob, np

random = np.random.default_rng(0)
y = (np.arange(2000) % 33 == 0).astype("float32")
x = random.normal(size=(2000, 12)).astype("float32") + 0.25 * y[:, None]
model = keras.Sequential([keras.layers.Dense(8, activation="relu"), keras.layers.Dense(1, activation="sigmoid")])
model.compile(keras.optimizers.SGD(0.02), "binary_crossentropy", metrics=["accuracy"])
model.fit(x, y, epochs=8, verbose=2, class_weight={0: 1.0, 1: float(knob("WEIGHT", 1))} if knob("WEIGHT", 1) > 1 else None)
