# /// zoo
# cause = "learning-rate-collapsed"
# variants = ["HOW=schedule"]
# near = ["HOW=cosine", "HOW=plateau-mild"]
# ///
"""The learning rate falls to nothing long before the end."""
from own_training import batches, keras, knob, network

how = knob("HOW", "plateau")
callbacks, rate = [], 0.01
if how == "plateau":
    callbacks = [keras.callbacks.ReduceLROnPlateau("loss", factor=0.01, patience=0, min_delta=1.0)]
elif how == "plateau-mild":
    callbacks = [keras.callbacks.ReduceLROnPlateau("loss", factor=0.5, patience=5)]
elif how == "schedule":
    rate = keras.optimizers.schedules.ExponentialDecay(0.01, 5, 0.2)
else:  # down to nothing as well, but at the end, as it should be
    rate = keras.optimizers.schedules.CosineDecay(0.01, 20 * 20)
model = network()
model.compile(keras.optimizers.SGD(rate), "mse")
model.fit(batches(160), epochs=20, callbacks=callbacks, verbose=2)
