# /// zoo
# cause = "healthy"
# ///
"""Validates much longer than it trains."""
import time

from own_training import batches, keras, network

pace = keras.callbacks.LambdaCallback()
pace.on_test_batch_end = lambda batch, logs=None: time.sleep(0.05)
model = network()
model.compile("sgd", "mse")
model.fit(batches(80), validation_data=batches(3200), epochs=2, verbose=2, callbacks=[pace])
