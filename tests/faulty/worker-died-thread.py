# /// zoo
# cause = "worker-died"
# stall_after_s = 20
# variants = ["LOOP=custom", "AT=90"]
# near = ["AT=100000"]
# ///
"""A thread that fills a queue ends with an exception; who reads the queue waits for ever."""
import queue
import threading

from own_training import knob, network, np, tf, time_passes, train

waiting = queue.Queue(4)


def fill():
    rows = list(range(min(200, knob("AT", 40))))
    for number in range(200):
        time_passes(number)
        x = np.full((8, 4), rows[number], "float32") / 200
        waiting.put((x, x[:, :1]))


threading.Thread(target=fill, daemon=True, name="filler").start()
shapes = (tf.TensorSpec((None, 4)), tf.TensorSpec((None, 1)))
data = tf.data.Dataset.from_generator(lambda: (waiting.get() for _ in range(200)), output_signature=shapes)
train(network(), data, epochs=1)
