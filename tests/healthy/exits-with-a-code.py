# /// zoo
# cause = "healthy"
# ///
"""Ends by `sys.exit(0)` from within a function, as command-line scripts do."""
import sys

from own_training import batches, network, train


def main():
    train(network(), batches(800), epochs=2)
    return 0


sys.exit(main())
