# /// zoo
# cause = "monitor-missing"
# variants = ["WHO=checkpoint", "MONITOR=mAP"]
# near = ["MONITOR=val_loss"]
# ///
"""EarlyStopping watches a metric that does not exist, and so never stops."""
from own_training import batches, keras, knob, network

monitor = knob("MONITOR", "val_los")
watch = keras.callbacks.EarlyStopping(monitor, patience=3, mode="min")
if knob("WHO", "stop") == "checkpoint":
    watch = keras.callbacks.ModelCheckpoint("best.keras", monitor=monitor, save_best_only=True, mode="min")
model = network()
model.compile("sgd", "mse")
model.fit(batches(80), validation_data=batches(40), epochs=8, callbacks=[watch], verbose=2)
