# /// zoo
# cause = "thread-limit"
# pids = 90
# variants = ["HOW=python"]
# near = ["COUNT=5 HOW=python"]
# ///
"""May not start as many threads as it wants."""
import threading
import time

from own_training import batches, knob, network, tf, train

count = knob("COUNT", 200)
train(network(), batches(80), epochs=1)
if knob("HOW", "native") == "python":
    for _ in range(count):
        threading.Thread(target=time.sleep, args=(3,), daemon=True).start()
else:
    options = tf.data.Options()
    options.threading.private_threadpool_size = count
    train(network(), batches(800).with_options(options), epochs=1)
train(network(), batches(800), epochs=2)
