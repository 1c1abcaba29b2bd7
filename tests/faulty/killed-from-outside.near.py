# /// zoo
# cause = "memory-leak"
# memory_mib = 1300
# leads_to = "killed-for-memory"
# ///
"""SIGKILL as well, but the kernel's own, for memory."""
from own_training import batches, network, np, train

held = []
train(network(), batches(40_000), epochs=5, on_step=lambda step: held.append(np.ones(1 << 20, "float32")))
