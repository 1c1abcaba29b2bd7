# /// zoo
# cause = "killed-from-outside"
# send = {signal = "SIGKILL"}
# ///
"""kill -9 from another terminal."""
import os

import keras
import numpy as np

x = np.random.RandomState(0).rand(2048, 8).astype("float32")
model = keras.Sequential([keras.layers.Dense(32, activation="relu"), keras.layers.Dense(8)])
model.compile("adam", "mse")
for round_number in range(10000):
    model.fit(x, x, epochs=1, batch_size=64, verbose=2)
    if round_number == 2:
        with open("ready", "w") as file:
            file.write(str(os.getpid()))
