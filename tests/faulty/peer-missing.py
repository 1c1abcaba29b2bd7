# /// zoo
# cause = "peer-missing"
# stall_after_s = 30
# limit_s = 300
# near = ["ALONE=1"]
# ///
"""Two machines are to train together, and the other one is not there."""
import json
import os
import socket

with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
hosts = [f"127.0.0.1:{port}"] + ([] if os.environ.get("ALONE") else ["127.0.0.1:9"])
os.environ["TF_CONFIG"] = json.dumps({"cluster": {"worker": hosts}, "task": {"type": "worker", "index": 0}})
import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
with strategy.scope():
    weight = tf.Variable(1.0)
for step in range(20):
    total = strategy.run(lambda: weight * 2.0)
print("both are here", total)
