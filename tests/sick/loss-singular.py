# /// zoo
# cause = "loss-singular"
# variants = ["LOOP=custom", "AT=25"]
# near = ["SAFE=1"]
# ///
"""The loss is finite where its gradient is not: the root of exactly nothing."""
from own_training import keras, knob, network, np, table, tf, train

x, y = table(400)
at = knob("AT", 40) * 8
x[at : at + 8] = 0.0
y[at : at + 8] = 0.0


def distance(truth, predicted):
    square = tf.reduce_sum((truth - predicted) ** 2, axis=1)
    return tf.sqrt(square + 1e-9) if knob("SAFE", 0) else tf.sqrt(square)


model = keras.Sequential([keras.layers.Dense(8, use_bias=False), keras.layers.Dense(1, use_bias=False)])
data = tf.data.Dataset.from_tensor_slices((x, y)).batch(8)
train(model, data, epochs=3, loss=distance)
