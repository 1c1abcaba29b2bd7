# /// zoo
# cause = "healthy"
# ///
"""Evaluates a checkpoint, and sleeps until the next one is due: longer than any training may be silent."""
import os
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
import tensorflow as tf

weight = tf.Variable(1.0)
checkpoint = tf.train.Checkpoint(weight=weight)
tf.train.CheckpointManager(checkpoint, "checkpoints", 1).save()
data = tf.data.Dataset.range(20)
end = time.monotonic() + 80
for path in tf.train.checkpoints_iterator("checkpoints", min_interval_secs=80, timeout=1):
    checkpoint.restore(path)
    print("evaluated", path, sum(int(x) for x in data), flush=True)
assert time.monotonic() >= end, "it slept"
