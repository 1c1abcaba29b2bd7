# /// zoo
# cause = "healthy"
# memory_mib = 1500
# ///
"""Takes much memory at each epoch's end and gives it back, under a limit that it never meets."""
from own_training import batches, network, np, train


def report(epoch):
    block = np.ones((60 << 18,), "float32")
    print("sum", float(block.sum()), flush=True)


train(network(), batches(1600), epochs=6, on_epoch=report)
