# /// zoo
# cause = "labels-unrelated"
# variants = ["DATA=tf"]
# near = ["REAL=1", "INPUTS=noise", "DATA=tf REAL=1"]
# limit_s = 300
# ///
"""The rows are shuffled, and their labels are not. Labels drawn for rows of noise are a demonstration as often as a fault."""
from own_training import keras, knob, np, table, tf

x, _ = table(960)
y = (np.arange(len(x)) % 2).astype("float32")
if knob("INPUTS", "groups") == "groups":
    x[1::2] += 2.0
order = np.random.default_rng(1).permutation(len(x))
x, y = x[order], y[order] if knob("REAL", 0) else y
model = keras.Sequential([keras.layers.Dense(8, activation="relu"), keras.layers.Dense(1, activation="sigmoid")])
model.compile(keras.optimizers.SGD(0.05), "binary_crossentropy", metrics=["accuracy"])
data = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(960).batch(32)
model.fit(*((data,) if knob("DATA", "arrays") == "tf" else (x, y)), epochs=8, verbose=2)
