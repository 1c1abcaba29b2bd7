"""A loop under MirroredStrategy on two logical CPUs: 3 calls of ten steps, 4 of one, and one of ten that fails."""

import tensorflow as tf

cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
with strategy.scope():
    weight = tf.Variable([[0.5]])
    optimizer = tf.keras.optimizers.SGD(0.01)
x = tf.random.stateless_normal((64, 1), (1, 2))
dataset = tf.data.Dataset.from_tensor_slices((x, 3.0 * x)).repeat().batch(8)
batches = iter(strategy.experimental_distribute_dataset(dataset))


def train_step(inputs, targets):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((tf.matmul(inputs, weight) - targets) ** 2)
    optimizer.apply_gradients([(tape.gradient(loss, weight), weight)])
    tf.debugging.assert_less(optimizer.iterations, tf.cast(limit, optimizer.iterations.dtype))
    return {"Loss/part_loss": 0.5 * loss, "Loss/total_loss": loss}


limit = tf.Variable(1000)


@tf.function
def ten_steps(iterator):
    for _ in tf.range(9):
        strategy.run(train_step, args=next(iterator))
    losses = strategy.run(train_step, args=next(iterator))
    return {name: strategy.reduce("MEAN", loss, axis=None) for name, loss in losses.items()}


@tf.function
def one_step(iterator):
    return strategy.run(train_step, args=next(iterator))


for _ in range(3):
    losses = ten_steps(batches)
print("iterations", int(optimizer.iterations.numpy()), float(losses["Loss/total_loss"]), flush=True)
for _ in range(4):
    one_step(batches)
print("iterations", int(optimizer.iterations.numpy()), flush=True)
limit.assign(38)
try:
    ten_steps(batches)
except tf.errors.InvalidArgumentError:
    print("iterations", int(optimizer.iterations.numpy()), flush=True)
