# /// zoo
# cause = "generator-exhausted"
# variants = ["ROWS=300 EPOCHS=4"]
# near = ["AGAIN=1"]
# ///
"""Every pass is given the same generator object; from the second epoch on nothing comes out of the dataset."""
from own_training import keras, knob, network, table, tf

x, y = table(knob("ROWS", 640))
again = bool(knob("AGAIN", 0))


def rows():
    yield from zip(x, y)


once = rows()
spec = (tf.TensorSpec(x.shape[1:], x.dtype), tf.TensorSpec(y.shape[1:], y.dtype))
data = tf.data.Dataset.from_generator(rows if again else lambda: once, output_signature=spec).batch(32)
net, optimizer = network(), keras.optimizers.Adam(1e-3)


@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((net(x, training=True) - y) ** 2)
    optimizer.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))
    return loss


for epoch in range(knob("EPOCHS", 8)):
    for batch in data:
        loss = step(*batch)
    print(epoch, float(loss))
