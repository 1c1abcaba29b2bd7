# /// zoo
# cause = "path-missing"
# variants = ["HOW=tf LOOP=custom", "HOW=environment"]
# near = ["HOW=optional"]
# limit_s = 300
# ///
"""A path points nowhere: a file, a folder or an environment variable."""
import os
from pathlib import Path

from own_training import batches, knob, network, np, tf, train

how = knob("HOW", "numpy")
if how == "numpy":
    np.load("data/train/boxes.npy")
elif how == "environment":
    os.listdir(os.path.join(str(os.environ.get("TRAIN_DATA_DIR")), "images"))
elif how == "optional":
    try:
        np.load("last.npy")
    except FileNotFoundError:
        print("no earlier state, starting fresh")
data = batches(160)
if how == "tf":
    data = tf.data.TFRecordDataset("data/train.tfrecord").map(lambda r: (tf.ones((4,)), tf.ones((1,)))).batch(8)
train(network(), data, epochs=2)
