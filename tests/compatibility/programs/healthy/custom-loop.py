# /// zoo
# cause = "healthy"
# ///
"""GradientTape, tf.function, metrics, and a checkpoint after each epoch with CheckpointManager."""
import hashlib
import random

import numpy as np
import tensorflow as tf

random.seed(4)
tf.random.set_seed(4)
x = np.random.RandomState(4).normal(size=(320, 12)).astype("float32")
y = np.argmax(x[:, :4], axis=1)
ds = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(320, seed=4).batch(32)
model = tf.keras.Sequential([tf.keras.layers.Dense(32, activation="relu"), tf.keras.layers.Dense(4)])
model.build((None, 12))
optimizer = tf.keras.optimizers.Adam(learning_rate=0.003)
loss_fn = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
mean_loss = tf.keras.metrics.Mean()
manager = tf.train.CheckpointManager(tf.train.Checkpoint(model=model), "ckpt", max_to_keep=2)


@tf.function
def train_step(batch_x, batch_y):
    with tf.GradientTape() as tape:
        loss = loss_fn(batch_y, model(batch_x, training=True))
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    mean_loss.update_state(loss)


for epoch in range(6):
    for batch_x, batch_y in ds:
        train_step(batch_x, batch_y)
    print("epoch", epoch, "loss", float(mean_loss.result()), manager.save())
print("weights", hashlib.sha256(b"".join(w.tobytes() for w in model.get_weights())).hexdigest())
