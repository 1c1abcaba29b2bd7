# /// zoo
# cause = "dataset-smaller-than-batch"
# variants = ["ROWS=20 BATCH=32"]
# near = ["ROWS=128"]
# ///
"""The rows that are left for validation are fewer than a batch, and incomplete batches are dropped: its mean is nan."""
import numpy as np
from own_training import keras, knob, network, table, tf

x, y = table(640)
held, batch = knob("ROWS", 50), knob("BATCH", 64)


def pipeline(x, y):
    return tf.data.Dataset.from_tensor_slices((x, y)).batch(batch, drop_remainder=True).prefetch(1)


train, validation = pipeline(x[held:], y[held:]), pipeline(x[:held], y[:held])
net, optimizer = network(), keras.optimizers.Adam(1e-3)


@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((net(x, training=True) - y) ** 2)
    optimizer.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))
    return loss


for epoch in range(8):
    for batch_of in train:
        loss = step(*batch_of)
    scores = [float(tf.reduce_mean((net(a) - b) ** 2)) for a, b in validation]
    print(epoch, float(loss), np.mean(scores) if scores else float("nan"))
