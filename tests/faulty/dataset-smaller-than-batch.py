# /// zoo
# cause = "dataset-smaller-than-batch"
# variants = ["ROWS=5 BATCH=8", "ROWS=100 BATCH=128"]
# near = ["ROWS=64", "ROWS=65 BATCH=64"]
# ///
"""Drops the remainder, and everything is remainder."""
from own_training import knob, network, table, tf, train

data = tf.data.Dataset.from_tensor_slices(table(knob("ROWS", 40))).shuffle(100).batch(knob("BATCH", 64), drop_remainder=True)
train(network(), data.prefetch(2), epochs=3)
