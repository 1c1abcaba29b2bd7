# /// zoo
# cause = "healthy"
# ///
"""Takes its time to save at the end of each epoch."""
import time

from own_training import batches, keras, network


class Archive(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        self.model.save(f"epoch-{epoch}.keras")
        time.sleep(12)  # the upload


model = network(width=3000)
model.compile("sgd", "mse")
model.fit(batches(400), epochs=3, callbacks=[Archive()], verbose=2)
