# /// zoo
# cause = "preempted"
# send = {signal = "SIGTERM", to = "command"}
# ///
"""The cluster takes the machine back with SIGTERM; the loop is written by hand."""
import os

import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(32, activation="relu"), tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD(learning_rate=0.01)
data = tf.data.Dataset.range(100000).map(lambda i: tf.cast(tf.reshape(i % 7, (1,)), tf.float32)).batch(32).repeat()


@tf.function
def train_step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - 2.0 * x) ** 2)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss


for step, x in enumerate(data):
    loss = train_step(x)
    if step % 100 == 0:
        print(step, loss.numpy(), flush=True)
    if step == 300:
        with open("ready", "w") as file:
            file.write(str(os.getpid()))
