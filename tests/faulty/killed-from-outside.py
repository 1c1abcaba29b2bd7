# /// zoo
# cause = "killed-from-outside"
# send = {signal = "SIGKILL", to = "program"}
# quick = true
# variants = ["LOOP=custom", "LOOP=batch BATCH=3"]
# ///
"""Healthy until somebody sends SIGKILL."""
from own_training import batches, knob, network, ready, time_passes, train

train(network(), batches(40_000, knob("BATCH", 8)), epochs=50, on_step=lambda step: time_passes(step) or (ready() if step == 200 else None))
