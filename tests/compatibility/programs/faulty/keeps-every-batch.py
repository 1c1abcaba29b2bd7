# /// zoo
# cause = "memory-leak"
# leads_to = "killed-for-memory"
# memory_mib = 1800
# limit_s = 600
# ///
"""Every batch with its prediction is kept 'for the plots', until the container's memory is full."""
import numpy as np
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Conv2D(3, 1)])
optimizer = tf.keras.optimizers.SGD(learning_rate=0.001)
for_the_plots = []


def batches():
    rng = np.random.RandomState(0)
    while True:
        yield rng.rand(8, 128, 128, 3).astype("float32")


@tf.function
def train_step(images):
    with tf.GradientTape() as tape:
        output = model(images, training=True)
        loss = tf.reduce_mean(tf.abs(output - images))
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    return loss, output


for step, images in enumerate(batches()):
    loss, output = train_step(images)
    for_the_plots.append((images, output.numpy(), float(loss)))
    if step % 50 == 0:
        print("step %d loss %.4f" % (step, float(loss)), flush=True)
    if step == 20000:
        break
