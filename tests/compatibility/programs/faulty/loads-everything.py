# /// zoo
# cause = "killed-for-memory"
# memory_mib = 1500
# ///
"""All images are read into a list before the training starts; the container has a memory limit."""
import numpy as np
import tensorflow as tf

images = []
for number in range(4000):
    images.append(np.full((512, 512, 3), number % 255 / 255.0, dtype="float32"))
    if number % 200 == 0:
        print("read", number, flush=True)

model = tf.keras.Sequential([tf.keras.layers.Flatten(), tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(np.stack(images), np.zeros(len(images)), batch_size=8)
