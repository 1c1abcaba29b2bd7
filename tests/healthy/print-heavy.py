# /// zoo
# cause = "healthy"
# ///
"""Prints a great deal, and a progress bar on top."""
from own_training import batches, keras, network

talk = keras.callbacks.LambdaCallback(on_train_batch_end=lambda step, logs: print(step, logs, "." * 400))
model = network()
model.compile("sgd", "mse")
model.fit(batches(8000), epochs=3, verbose=1, callbacks=[talk])
