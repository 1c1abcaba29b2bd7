# /// zoo
# cause = "bad-boxes"
# variants = ["HOW=zero", "HOW=nan", "LOOP=custom", "BAD=100 ROWS=400"]
# near = ["HOW=none", "HOW=rate -> learning-rate-too-high"]
# ///
"""One box has its corners the wrong way round: the logarithm of its width is not a number."""
from own_training import keras, knob, network, np, tf, train

how, rows, bad = knob("HOW", "inverted"), knob("ROWS", 320), knob("BAD", 217)
random = np.random.default_rng(knob("SEED", 0))
features = random.normal(size=(rows, 16)).astype("float32")
corner = random.uniform(10, 200, (rows, 2))
boxes = np.concatenate([corner, corner + random.uniform(10, 90, (rows, 2))], axis=1).astype("float32")
if how == "inverted":
    boxes[bad] = boxes[bad][[2, 3, 0, 1]]
elif how == "zero":
    boxes[bad, 2] = boxes[bad, 0]
elif how == "nan":
    boxes[bad, 1] = np.nan


def box_loss(truth, predicted):
    size = truth[:, 2:] - truth[:, :2]
    coded = tf.concat([truth[:, :2] / 100.0, tf.math.log(size / 50.0)], axis=1)
    return tf.reduce_mean(tf.abs(coded - predicted), axis=1) if how != "rate" else tf.reduce_mean((coded - predicted) ** 2, axis=1)


data = tf.data.Dataset.from_tensor_slices((features, boxes)).batch(8)
train(network(4), data, epochs=3, loss=box_loss, optimizer=keras.optimizers.SGD(9.0 if how == "rate" else 0.01))
