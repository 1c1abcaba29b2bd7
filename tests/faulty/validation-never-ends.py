# /// zoo
# cause = "validation-never-ends"
# explain_at_s = 40
# variants = ["HOW=generator"]
# near = ["STEPS=1500"]
# ///
"""The validation data is endless: training batches stand still while test batches go on and on."""
from own_training import batches, knob, network, np, ready, time_passes, keras

steps = knob("STEPS", 0)


def examples():
    while True:
        yield np.ones((8, 4), "float32"), np.ones((8, 1), "float32")


class Count(keras.callbacks.Callback):
    def on_test_batch_end(self, batch, logs=None):
        time_passes(batch)
        if batch == 50:
            ready()


model = network()
model.compile("sgd", "mse")
validation = examples() if knob("HOW", "repeat") == "generator" else batches(80).repeat()
model.fit(batches(80), epochs=2, validation_data=validation, validation_steps=steps or None, verbose=2, callbacks=[Count()])
