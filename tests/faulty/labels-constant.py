# /// zoo
# cause = "labels-constant"
# near = ["WORD=dog"]
# limit_s = 300
# ///
"""The labels come from a comparison with a misspelt word: all of them are 0."""
from own_training import keras, knob, np, table

x, total = table(640)
names = np.where(np.ravel(total) > 0, "dog", "cat")
y = (names == knob("WORD", "Dog")).astype("int64")
model = keras.Sequential([keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1, activation="sigmoid")])
model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
model.fit(x, y, epochs=5, verbose=2)
