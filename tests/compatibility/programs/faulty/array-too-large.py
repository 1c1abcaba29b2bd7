# /// zoo
# cause = "memory-refused"
# ///
"""One array for the whole archive of images: far more than there is."""
import numpy as np
import tensorflow as tf

images = np.zeros((900000, 512, 512, 3), dtype="float64")
model = tf.keras.Sequential([tf.keras.layers.Flatten(), tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(images, np.zeros(len(images)), batch_size=8)
