# /// zoo
# cause = "healthy"
# ///
"""A search that gives up the trials that look bad, by an exception that it catches."""
from own_training import keras, np


class GivenUp(Exception):
    pass


class Prune(keras.callbacks.Callback):
    def __init__(self, best):
        super().__init__()
        self.best = best

    def on_epoch_end(self, epoch, logs=None):
        if epoch == 1 and logs["loss"] > 0.9 * self.best:
            raise GivenUp(f"epoch {epoch}")


random = np.random.default_rng(0)
x, y = random.random((256, 4), "float32"), random.random((256, 1), "float32")
best = 9.0
for rate in (1e-2, 1e-5, 1e-6, 1e-7):
    model = keras.Sequential([keras.layers.Dense(8, activation="relu"), keras.layers.Dense(1)])
    model.compile(keras.optimizers.Adam(rate), "mse")
    try:
        best = min(best, model.fit(x, y, epochs=6, verbose=0, callbacks=[Prune(best)]).history["loss"][-1])
    except GivenUp as reason:
        print(f"{rate}: given up at {reason}", flush=True)
print(f"best {best:.4f}")
