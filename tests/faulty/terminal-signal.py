# /// zoo
# cause = "terminal-signal"
# send = {signal = "SIGINT", to = "group"}
# quick = true
# variants = ["LOOP=custom"]
# limit_s = 300
# ///
"""Ctrl-C in the terminal that it runs in."""
from own_training import batches, network, ready, time_passes, train

train(network(), batches(40_000), epochs=3, on_step=lambda step: time_passes(step) or (ready() if step == 100 else None))
