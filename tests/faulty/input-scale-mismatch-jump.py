# /// zoo
# cause = "input-scale-mismatch"
# variants = ["PART=1 LOOP=batch", "LOOP=custom FAR=1e20"]
# near = ["FAR=1"]
# ///
"""One sample of many is far out of range: the loss jumps there and never comes back."""
import os

from own_training import knob, network, table, tf, train

os.environ.setdefault("LOOP", "batch")
pair = table(1600)
pair[knob("PART", 0)][1003] *= knob("FAR", 1e16)
train(network(), tf.data.Dataset.from_tensor_slices(pair).batch(8), epochs=2, on_step=lambda step: None)
