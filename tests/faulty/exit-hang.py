# /// zoo
# cause = "exit-hang"
# stall_after_s = 20
# variants = ["HOW=atexit"]
# near = ["HOW=slow"]
# ///
"""The training is done, and the interpreter does not end: a thread of one's own goes on waiting."""
import atexit
import threading
import time

from own_training import batches, knob, network, train

how = knob("HOW", "thread")
train(network(), batches(400), epochs=2)
if how == "thread":
    threading.Thread(target=threading.Event().wait, name="uploader").start()
elif how == "atexit":
    atexit.register(threading.Event().wait)
else:
    atexit.register(time.sleep, 8)
print("training is done", flush=True)
