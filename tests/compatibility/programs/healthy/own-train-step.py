# /// zoo
# cause = "healthy"
# ///
"""A model with its own train_step, trained with fit."""
import hashlib
import random

import numpy as np
import tensorflow as tf

random.seed(5)
tf.random.set_seed(5)


class Denoiser(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.encode = tf.keras.layers.Dense(8, activation="relu")
        self.decode = tf.keras.layers.Dense(16)

    def call(self, inputs, training=False):
        return self.decode(self.encode(inputs))

    def train_step(self, data):
        clean = data[0] if isinstance(data, tuple) else data
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(self(clean + 0.1, training=True) - clean))
        grads = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.trainable_variables))
        return {"reconstruction": loss}


data = np.random.RandomState(5).rand(256, 16).astype("float32")
model = Denoiser()
model.compile(optimizer=tf.keras.optimizers.Adam(0.01))
model.fit(data, epochs=5, batch_size=32, shuffle=False, verbose=2)
print("weights", hashlib.sha256(b"".join(w.tobytes() for w in model.get_weights())).hexdigest())
