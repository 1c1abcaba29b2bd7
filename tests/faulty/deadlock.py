# /// zoo
# cause = "deadlock"
# stall_after_s = 20
# quick = true
# variants = ["HOW=thread", "LOOP=custom"]
# near = ["HOW=contention"]
# ///
"""Two threads each hold the lock that the other one wants."""
import threading
import time

from own_training import batches, knob, network, np, tf, train

how = knob("HOW", "loader")
index, store = threading.Lock(), threading.Lock()


def read(x, y):
    with index:
        time.sleep(0.002)
        if how != "contention":
            with store:
                return x, y
        return x, y


def write():
    while True:
        with store:
            time.sleep(0.002)
            if how != "contention":
                with index:
                    pass


threading.Thread(target=write, daemon=True, name="writer").start()
data = batches(800)
if how != "thread":
    data = data.map(lambda x, y: tf.numpy_function(read, (x, y), (tf.float32, tf.float32)))
    data = data.map(lambda x, y: (tf.ensure_shape(x, (None, 4)), tf.ensure_shape(y, (None, 1))))
train(network(), data, epochs=3, on_step=(lambda step: read(0, 0)) if how == "thread" else None)
