# /// zoo
# cause = "healthy"
# ///
"""Reads its settings from standard input, which ends at once."""
import sys

from own_training import batches, network, train

settings = sys.stdin.read()
train(network(), batches(160), epochs=int(settings or 4))
