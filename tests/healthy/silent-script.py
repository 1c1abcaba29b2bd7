# /// zoo
# cause = "healthy"
# ///
"""Prints nothing at all for half a minute."""
from own_training import batches, keras, network, time_passes

model = network()
model.compile("sgd", "mse")
pace = keras.callbacks.LambdaCallback(on_train_batch_end=lambda step, logs: time_passes(step))
model.fit(batches(1600), epochs=10, verbose=0, callbacks=[pace])
