# /// zoo
# cause = "input-not-finite"
# ///
"""A sensor had a gap: some rows of the table are NaN, and nothing fills them in."""
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)
rows = ["%.3f,%.3f,%.3f,%.3f" % tuple(row) for row in rng.rand(600, 4)]
rows[417] = "0.1,,0.4,0.9"
with open("sensor.csv", "w") as file:
    file.write("a,b,c,target\n" + "\n".join(rows) + "\n")

table = np.genfromtxt("sensor.csv", delimiter=",", skip_header=1).astype("float32")
model = tf.keras.Sequential([
    tf.keras.layers.Dense(16, activation="relu"),
    tf.keras.layers.Dense(1),
])
model.compile(optimizer="adam", loss="mse")
model.fit(table[:, :3], table[:, 3], epochs=5, batch_size=20, shuffle=False, verbose=2)
