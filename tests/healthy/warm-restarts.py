# /// zoo
# cause = "healthy"
# ///
"""The learning rate goes down to nearly nothing and up again, on purpose."""
from own_training import batches, keras, network

rate = keras.optimizers.schedules.CosineDecayRestarts(0.02, first_decay_steps=60, t_mul=1.0, alpha=1e-5)
model = network()
model.compile(keras.optimizers.SGD(rate), "mse")
model.fit(batches(480), epochs=8, verbose=2)
