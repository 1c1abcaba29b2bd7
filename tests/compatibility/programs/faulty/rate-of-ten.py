# /// zoo
# cause = "learning-rate-too-high"
# ///
"""Linear regression with a learning rate that was meant for normalised inputs."""
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)
x = rng.normal(size=(512, 20)).astype("float32")
y = x @ rng.normal(size=(20, 1)).astype("float32")

model = tf.keras.Sequential([tf.keras.layers.Dense(32), tf.keras.layers.Dense(1)])
model.compile(optimizer=tf.keras.optimizers.SGD(learning_rate=0.6), loss="mse")
model.fit(x, y, batch_size=32, epochs=6, verbose=2)
print("weights:", model.get_weights()[0][0, :3])
