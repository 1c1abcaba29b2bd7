# /// zoo
# cause = "loss-singular"
# variants = ["LOOP=custom", "AT=25"]
# near = ["SAFE=1"]
# ///
"""The loss is finite where its gradient is not: the root of exactly nothing."""
from own_training import keras, knob, network, np, table, tf, train

batch = 512  # a step as long as a real one
x, y = table(60 * batch, 64)
at = knob("AT", 40) * batch
x[at : at + batch] = 0.0
y[at : at + batch] = 0.0


def distance(truth, predicted):
    square = tf.reduce_sum((truth - predicted) ** 2, axis=1)
    return tf.sqrt(square + 1e-9) if knob("SAFE", 0) else tf.sqrt(square)


model = keras.Sequential([*(keras.layers.Dense(1000, use_bias=False) for _ in range(2)), keras.layers.Dense(1, use_bias=False)])
data = tf.data.Dataset.from_tensor_slices((x, y)).batch(batch)
train(model, data, epochs=2, loss=distance, optimizer=keras.optimizers.SGD(1e-3))
