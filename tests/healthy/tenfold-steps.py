# /// zoo
# cause = "healthy"
# ///
"""Some steps take ten times as long as others, as pictures differ in size."""
import time

from own_training import batches, network, train

train(network(), batches(1600), epochs=2, on_step=lambda step: time.sleep(0.4 if step % 17 == 0 else 0.04))
