# /// zoo
# cause = "native-crash"
# quick = true
# variants = ["LOOP=custom", "HOW=abort", "AT=0"]
# near = ["HOW=handled"]
# ///
"""A native library crashes."""
import ctypes
import os

from own_training import batches, knob, network, train


def measure(step):
    if step == knob("AT", 30):
        if knob("HOW", "segv") == "segv":
            ctypes.string_at(0)
        elif knob("HOW", "segv") == "abort":
            os.abort()


train(network(), batches(800), epochs=2, on_step=measure)
