# /// zoo
# cause = "array-copied"
# leads_to = "killed-for-memory"
# memory_mib = 1700
# variants = ["ROWS=3600 SIDE=150"]
# near = ["ROWS=200", "STREAM=1"]
# ///
"""Hands `fit` one large array, which is copied on the way in."""
from own_training import keras, knob, np, picture_network

rows, side = knob("ROWS", 1100), knob("SIDE", 256)
x = np.ones((rows, side, side, 3), "float32")
y = np.ones((rows, 1), "float32")
print(f"the array has {x.nbytes / 2**20:.0f} MiB")
model = picture_network()
model.compile("sgd", "mse")


class Slices(keras.utils.PyDataset):
    def __len__(self):
        return rows // 10

    def __getitem__(self, index):
        return x[index * 10 : index * 10 + 10], y[index * 10 : index * 10 + 10]


if knob("STREAM", 0):
    model.fit(Slices(), epochs=1, verbose=2)
else:
    model.fit(x, y, batch_size=10, epochs=2, verbose=2)
