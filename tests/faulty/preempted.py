# /// zoo
# cause = "preempted"
# send = {signal = "SIGTERM", to = "command"}
# quick = true
# variants = ["LOOP=custom", "CATCH=1"]
# limit_s = 300
# ///
"""The machine is wanted for something else: SIGTERM."""
import signal
import sys

from own_training import batches, knob, network, ready, time_passes, train

if knob("CATCH", 0):
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(143))
train(network(), batches(40_000), epochs=3, on_step=lambda step: time_passes(step) or (ready() if step == 100 else None))
