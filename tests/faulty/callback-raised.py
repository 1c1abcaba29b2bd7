# /// zoo
# cause = "callback-raised"
# variants = ["WHEN=batch"]
# near = ["CATCH=1"]
# ///
"""A callback raises."""
from own_training import batches, keras, knob, network

when = knob("WHEN", "epoch")


class Report(keras.callbacks.Callback):
    def note(self, logs):
        return logs["val_accuracy"]

    def on_train_batch_end(self, batch, logs=None):
        if when == "batch" and batch == 7:
            self.note(logs)

    def on_epoch_end(self, epoch, logs=None):
        if when == "epoch" and epoch == 1:
            try:
                self.note(logs)
            except KeyError:
                if not knob("CATCH", 0):
                    raise


model = network()
model.compile("sgd", "mse")
model.fit(batches(160), epochs=4, callbacks=[Report()], verbose=2)
