# /// zoo
# cause = "recompiling"
# variants = ["HOW=tf", "STEPS=30"]
# near = ["HOW=few"]
# limit_s = 300
# ///
"""XLA compiles anew for every length of a sequence."""
import os

how = os.environ.get("HOW", "jax")
if how != "tf":
    os.environ["KERAS_BACKEND"] = "jax"
import keras
import numpy as np

layers = keras.layers
model = keras.Sequential([*(layers.Conv1D(16, 3, padding="same", activation="relu") for _ in range(2)), layers.GlobalAveragePooling1D(), layers.Dense(1)])
model.compile("sgd", "mse", jit_compile=True)
random = np.random.default_rng(0)


def examples():
    for number in range(int(os.environ.get("STEPS", 24))):
        length = (10, 20)[number % 2] if how == "few" else 10 + number
        x = random.normal(size=(4, length, 3)).astype("float32")
        yield x, x.mean(axis=(1, 2))[:, None]


for x, y in examples():
    loss = model.train_on_batch(x, y)
print("loss", loss)
