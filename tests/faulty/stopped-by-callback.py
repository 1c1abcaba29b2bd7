# /// zoo
# cause = "stopped-by-callback"
# variants = ["AT=5 WHEN=batch", "NAME=EarlyStopping"]
# near = ["AT=99", "AT=9", "HOW=stopiteration -> callback-raised"]
# ///
"""A callback of one's own sets `stop_training` (or raises StopIteration, which Keras swallows)."""
from own_training import batches, keras, knob, network

at, when, how = knob("AT", 3), knob("WHEN", "epoch"), knob("HOW", "stop")


class Budget(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        if how == "stopiteration" and batch == 5:
            raise StopIteration
        if when == "batch" and batch == at:
            self.model.stop_training = True

    def on_epoch_end(self, epoch, logs=None):
        if when == "epoch" and epoch == at and how == "stop":
            self.model.stop_training = True


Budget.__name__ = knob("NAME", "Budget")  # a name like Keras's own does not make it Keras's
model = network()
model.compile("sgd", "mse")
model.fit(batches(128), epochs=10, callbacks=[Budget()], verbose=2)
