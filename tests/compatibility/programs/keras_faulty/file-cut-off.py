# /// zoo
# cause = "checkpoint-torn"
# ///
"""A saved model is only half there."""
import os

import keras

model = keras.Sequential([keras.Input((32,)), keras.layers.Dense(200), keras.layers.Dense(1)])
model.save("model.keras")
os.truncate("model.keras", os.path.getsize("model.keras") // 2)
keras.models.load_model("model.keras").summary()
