# /// zoo
# cause = "healthy"
# ///
"""Pauses for a while by itself, between two epochs, to be gentle to a shared machine."""
import time

from own_training import batches, network, train

train(network(), batches(800), epochs=3, on_epoch=lambda epoch: time.sleep(6))
