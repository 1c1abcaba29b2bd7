# /// zoo
# cause = "loss-task-mismatch"
# near = ["LOSS=sparse_categorical_crossentropy"]
# limit_s = 300
# ///
"""Class ids are compared with probabilities by the mean squared error."""
from own_training import keras, knob, np, table

x, total = table(640)
y = np.clip(total * 1.5 + 2.5, 0, 4).astype("int64")
model = keras.Sequential([keras.layers.Dense(16, activation="relu"), keras.layers.Dense(5, activation="softmax")])
model.compile("adam", knob("LOSS", "mse"))
model.fit(x, y, epochs=6, verbose=2)
