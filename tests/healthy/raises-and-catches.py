# /// zoo
# cause = "healthy"
# ///
"""Looks for the largest batch that works by trying, and goes on with it."""
from own_training import batches, keras, network, train


class Budget(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        if self.params.get("steps", 0) and batch > 5:
            raise MemoryError("too large, says the test")


model = network()
model.compile("sgd", "mse")
try:
    model.fit(batches(800, batch=64), epochs=1, verbose=2, callbacks=[Budget()])
except MemoryError:
    print("smaller")
train(network(), batches(800), epochs=3)
