# /// zoo
# cause = "generator-not-thread-safe"
# variants = ["LOOP=custom"]
# near = ["GUARD=1"]
# ///
"""Several loader threads draw from one Python generator at once."""
import threading
import time

from own_training import knob, network, np, tf, train


def examples():
    while True:
        time.sleep(0.002)
        yield np.ones((8, 4), "float32")


source, guard = examples(), threading.Lock()


def draw(number):
    if knob("GUARD", 0):
        with guard:
            return next(source)
    return next(source)


data = tf.data.Dataset.range(300).map(lambda n: tf.numpy_function(draw, (n,), tf.float32), num_parallel_calls=4)
data = data.map(lambda x: (tf.ensure_shape(x, (8, 4)), tf.ones((8, 1))))
train(network(), data, epochs=2)
