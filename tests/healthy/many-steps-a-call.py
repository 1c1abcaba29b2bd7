# /// zoo
# cause = "healthy"
# ///
"""A loop under a strategy of tf.distribute, fifty steps in each call of its function."""
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy(["CPU:0"])
with strategy.scope():
    weight = tf.Variable(tf.zeros((4, 1)))
    optimizer = tf.keras.optimizers.SGD(0.05)
x = tf.random.stateless_normal((256, 4), (1, 2))
dataset = tf.data.Dataset.from_tensor_slices((x, tf.reduce_sum(x, 1, keepdims=True))).repeat().batch(32)
batches = iter(strategy.experimental_distribute_dataset(dataset))


def train_step(inputs, targets):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((tf.matmul(inputs, weight) - targets) ** 2)
    optimizer.apply_gradients([(tape.gradient(loss, weight), weight)])
    return loss


@tf.function
def fifty_steps(iterator):
    for _ in tf.range(49):
        strategy.run(train_step, args=next(iterator))
    return strategy.reduce("MEAN", strategy.run(train_step, args=next(iterator)), axis=None)


for call in range(20):
    loss = fifty_steps(batches)
print("steps", int(optimizer.iterations.numpy()), "loss", float(loss))
