"""Tables of numbers with two classes, for programs that pass arrays to `fit`."""

from own_training import keras, knob, np


def two_classes(rows=640, columns=8, seed=0):
    """A class by the sign of a sum: any network learns it."""
    random = np.random.default_rng(knob("SEED", seed))
    x = random.normal(size=(rows, columns)).astype("float32")
    return x, (x.sum(axis=1) > 0).astype("float32")


def exclusive_or(rows=640, seed=0):
    """A class by the signs of two columns: no linear model learns it."""
    random = np.random.default_rng(knob("SEED", seed))
    x = random.normal(size=(rows, 2)).astype("float32")
    return x, ((x[:, 0] > 0) != (x[:, 1] > 0)).astype("float32")


def fit(layers, x, y, *, optimizer="adam", epochs=6, batch=32):
    keras.utils.set_random_seed(knob("SEED", 0))
    model = keras.Sequential([*layers, keras.layers.Dense(1, activation="sigmoid")])
    model.compile(optimizer, "binary_crossentropy", metrics=["accuracy"])
    model.fit(x, y, epochs=epochs, batch_size=batch, verbose=2)
    return model
