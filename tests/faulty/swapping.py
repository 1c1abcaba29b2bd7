# /// zoo
# cause = "swapping"
# memory_mib = 700
# swap_mib = 1500
# alone = true
# limit_s = 300
# ///
"""Works on more memory than it may keep, so that each step waits for the swap device."""
from own_training import batches, knob, network, np, train

table = np.ones((knob("MIB", 600) << 18), "float32")


def touch(step):
    table[(step % 4) :: 1024] += 1.0


train(network(), batches(400), epochs=2, on_step=touch)
