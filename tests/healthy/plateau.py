# /// zoo
# cause = "healthy"
# quick = true
# ///
"""Learns all there is to learn in the first epochs; the loss then stays where it is."""
from own_training import keras, np, tf, train

random = np.random.default_rng(0)
x = random.normal(size=(1600, 4)).astype("float32")
y = (x.sum(axis=1, keepdims=True) + random.normal(size=(1600, 1))).astype("float32")
model = keras.Sequential([keras.layers.Dense(1)])
train(model, tf.data.Dataset.from_tensor_slices((x, y)).batch(16), epochs=12, optimizer=keras.optimizers.SGD(0.05))
