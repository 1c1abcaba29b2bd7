# /// zoo
# cause = "healthy"
# ///
"""An endless Python generator, with the number of steps said."""
from own_training import network, np


def examples():
    random = np.random.default_rng(0)
    while True:
        x = random.normal(size=(8, 4)).astype("float32")
        yield x, x.sum(axis=1, keepdims=True)


model = network()
model.compile("sgd", "mse")
model.fit(examples(), steps_per_epoch=50, epochs=4, validation_data=examples(), validation_steps=10, verbose=2)
