# /// zoo
# cause = "input-not-finite"
# ///
"""A row of the table is NaN; a loop over train_on_batch."""
import keras
import numpy as np

table = np.random.RandomState(0).rand(400, 5).astype("float32")
table[233, 2] = np.nan
model = keras.Sequential([keras.layers.Dense(8, activation="relu"), keras.layers.Dense(1)])
model.compile("adam", "mse")
for start in range(0, 400, 8):
    rows = table[start:start + 8]
    loss = model.train_on_batch(rows[:, :4], rows[:, 4:])
    if start % 80 == 0:
        print("row", start, "loss", loss)
