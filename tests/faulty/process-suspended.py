# /// zoo
# cause = "process-suspended"
# send = {signal = "SIGSTOP", to = "program"}
# explain_at_s = 20
# variants = ["LOOP=custom"]
# ///
"""Somebody stops the process (Ctrl-Z, a batch system)."""
from own_training import batches, network, ready, time_passes, train

train(network(), batches(40_000), epochs=3, on_step=lambda step: time_passes(step) or (ready() if step == 100 else None))
