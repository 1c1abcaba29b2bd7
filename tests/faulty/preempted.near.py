# /// zoo
# cause = "terminal-signal"
# send = {signal = "SIGHUP", to = "group"}
# limit_s = 300
# ///
"""A signal ends it as well, but the terminal's."""
from own_training import batches, network, ready, time_passes, train

train(network(), batches(40_000), epochs=3, on_step=lambda step: time_passes(step) or (ready() if step == 100 else None))
