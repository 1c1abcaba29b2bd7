# /// zoo
# cause = ["callback-raised", "script-error"]
# ///
"""Raises KeyboardInterrupt's cousin by itself: nobody pressed a key."""
from own_training import batches, network, train


def check(step):
    if step == 40:
        raise RuntimeError("interrupted: the budget is used up")


train(network(), batches(800), epochs=2, on_step=check)
