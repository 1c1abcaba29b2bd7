# /// zoo
# cause = "shuffle-refill-pause"
# limit_s = 300
# variants = ["LOOP=custom", "BUFFER=500 MS=20"]
# near = ["BUFFER=1 MS=0", "BUFFER=1 MS=0 PAUSE=4"]
# alone = true
# ///
"""Fills a shuffle buffer at the start of every epoch; between, the steps are fast."""
import time

from own_training import knob, network, np, tf, train

buffer, ms = knob("BUFFER", 700), knob("MS", 8)


def load(number):
    time.sleep(ms / 1000)
    return np.full(4, number % 3, "float32"), np.ones(1, "float32")


data = tf.data.Dataset.range(buffer + 100 if buffer > 1 else 300).map(lambda n: tf.numpy_function(load, (n,), (tf.float32, tf.float32)))
data = data.map(lambda x, y: (tf.ensure_shape(x, (4,)), tf.ensure_shape(y, (1,)))).shuffle(buffer).batch(4)
train(network(), data, epochs=4, on_epoch=lambda epoch: time.sleep(knob("PAUSE", 0)))
