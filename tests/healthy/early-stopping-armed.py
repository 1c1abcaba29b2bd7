# /// zoo
# cause = "healthy"
# quick = true
# ///
"""EarlyStopping, TerminateOnNaN and ReduceLROnPlateau stand by; none of them has cause to act."""
from own_training import batches, keras, network

model = network()
model.compile(keras.optimizers.SGD(0.003), "mse")
watch = [
    keras.callbacks.EarlyStopping("val_loss", patience=5), keras.callbacks.TerminateOnNaN(),
    keras.callbacks.ReduceLROnPlateau("val_loss", patience=3), keras.callbacks.CSVLogger("log.csv"),
]
model.fit(batches(400), validation_data=batches(80), epochs=8, callbacks=watch, verbose=2)
