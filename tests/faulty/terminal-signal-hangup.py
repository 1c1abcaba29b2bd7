# /// zoo
# cause = "terminal-signal"
# send = {signal = "SIGHUP", to = "group"}
# variants = ["LOOP=batch"]
# limit_s = 300
# ///
"""The terminal that it runs in is closed."""
from own_training import batches, network, ready, time_passes, train

train(network(), batches(40_000), epochs=3, on_step=lambda step: time_passes(step) or (ready() if step == 100 else None))
