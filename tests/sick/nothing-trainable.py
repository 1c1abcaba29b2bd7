# /// zoo
# cause = "nothing-trainable"
# variants = ["EPOCHS=8"]
# near = ["HEAD=1"]
# ///
"""Everything is frozen."""
from own_training import batches, keras, knob, network

model = network()
model.build((None, 4))
model.trainable = False
if knob("HEAD", 0):
    model = keras.Sequential([model, keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(batches(160), epochs=knob("EPOCHS", 4), verbose=2)
