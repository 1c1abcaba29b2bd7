# /// zoo
# cause = "dataset-exhausted"
# quick = true
# quick_near = true
# variants = ["ROWS=160 STEPS=30", "KIND=arrays", "KIND=pydataset STEPS=7"]
# near = ["STEPS=5", "STEPS=0"]
# ///
"""More steps are asked of an epoch than the data holds."""
from own_training import batches, keras, knob, network, table

rows, steps, kind = knob("ROWS", 40), knob("STEPS", 8), knob("KIND", "dataset")
x, y = table(rows)


class Slices(keras.utils.PyDataset):
    def __len__(self):
        return rows // 8

    def __getitem__(self, index):
        return x[index * 8 : index * 8 + 8], y[index * 8 : index * 8 + 8]


model = network()
model.compile("sgd", "mse")
asked = {"steps_per_epoch": steps or None, "epochs": 6, "verbose": 2}
if kind == "dataset":
    model.fit(batches(rows), **asked)
elif kind == "arrays":
    model.fit(x, y, batch_size=8, **asked)
else:
    model.fit(Slices(), **asked)
