# /// zoo
# cause = "healthy"
# ///
"""Boxes are rare, so the box part of the loss is nearly nothing in most batches, and not in all."""
from own_training import keras, np

random = np.random.default_rng(0)
x = random.normal(size=(1600, 8)).astype("float32")
has = (random.random((1600, 1)) < 0.02).astype("float32")
box = np.concatenate([random.normal(size=(1600, 4)) * 0.01, has], axis=1).astype("float32")
inputs = keras.Input((8,))
trunk = keras.layers.Dense(16, activation="relu")(inputs)
model = keras.Model(inputs, {"box": keras.layers.Dense(4, name="box")(trunk), "kind": keras.layers.Dense(1, activation="sigmoid", name="kind")(trunk)})
model.compile("adam", {"box": lambda t, p: keras.ops.sum(keras.ops.abs(t[:, :4] - p) * t[:, 4:], axis=1), "kind": "binary_crossentropy"})
model.fit(x, {"box": box, "kind": has}, batch_size=16, epochs=4, verbose=2)
