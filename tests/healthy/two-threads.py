# /// zoo
# cause = "healthy"
# ///
"""Two models are trained at once, each in a thread of its own."""
import threading

from own_training import keras, np

random = np.random.default_rng(0)
x, y = random.random((256, 4), "float32"), random.random((256, 1), "float32")


def train():
    model = keras.Sequential([keras.layers.Dense(8, activation="relu"), keras.layers.Dense(1)])
    model.compile("adam", "mse")
    model.fit(x, y, epochs=6, verbose=0)


threads = [threading.Thread(target=train) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("both trained")
