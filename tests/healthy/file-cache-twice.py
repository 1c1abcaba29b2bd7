# /// zoo
# cause = "healthy"
# twice = true
# ///
"""A cache in a file, written by the first run and read by the second."""
from own_training import batches, network, train

train(network(), batches(800).cache("decoded"), epochs=3)
