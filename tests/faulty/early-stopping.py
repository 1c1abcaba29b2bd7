# /// zoo
# cause = "early-stopping"
# quick = true
# variants = ["PATIENCE=2 EPOCHS=40", "MONITOR=loss MODE=max"]
# near = ["PATIENCE=50", "EPOCHS=2"]
# ///
"""EarlyStopping ends the training, without a word unless it is asked."""
from own_training import batches, keras, knob, network, np, tf

random = np.random.default_rng(0)
other = tf.data.Dataset.from_tensor_slices((random.normal(size=(80, 4)), random.normal(size=(80, 1)) * 5)).batch(8)
model = network()
model.compile(keras.optimizers.SGD(0.05), "mse")
stop = keras.callbacks.EarlyStopping(knob("MONITOR", "val_loss"), patience=knob("PATIENCE", 1), mode=knob("MODE", "min"))
model.fit(batches(80), validation_data=other, epochs=knob("EPOCHS", 20), callbacks=[stop], verbose=2)
