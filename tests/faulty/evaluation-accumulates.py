# /// zoo
# cause = "evaluation-accumulates"
# leads_to = "killed-for-memory"
# memory_mib = 1300
# variants = ["MIB=6"]
# near = ["ROWS=160", "COUNT=1"]
# ///
"""Keeps every prediction of the validation, whole, to compute one number at its end."""
from own_training import batches, keras, knob, network, np

mib, rows = knob("MIB", 4), knob("ROWS", 20_000)


class WholeMetric(keras.callbacks.Callback):
    def on_test_begin(self, logs=None):
        self.everything, self.count = [], 0

    def on_test_batch_end(self, batch, logs=None):
        self.count += 1
        if not knob("COUNT", 0):
            self.everything.append(np.ones(mib << 18, "float32"))

    def on_test_end(self, logs=None):
        print("validation saw", self.count, "batches", flush=True)


model = network()
model.compile("sgd", "mse")
model.fit(batches(1600), validation_data=batches(rows), epochs=3, verbose=2, callbacks=[WholeMetric()])
