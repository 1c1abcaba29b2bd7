# /// zoo
# cause = "output-units-mismatch"
# near = ["REAL=1"]
# limit_s = 300
# ///
"""One unit for five classes."""
from own_training import keras, knob, np, table

x, total = table(640)
y = np.clip(np.ravel(total) * 1.5 + 2.5, 0, 4).astype("int64")
real = knob("REAL", 0)
model = keras.Sequential([
    keras.layers.Dense(16, activation="relu"),
    keras.layers.Dense(5, activation="softmax") if real else keras.layers.Dense(1, activation="sigmoid"),
])
model.compile("adam", "sparse_categorical_crossentropy" if real else "binary_crossentropy", metrics=["accuracy"])
model.fit(x, y, epochs=6, verbose=2)
