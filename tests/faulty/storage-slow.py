# /// zoo
# cause = "storage-slow"
# read_mib_s = 6
# alone = true
# limit_s = 300
# variants = ["LOOP=custom MIB=2"]
# near = ["MIB=0"]
# ///
"""Reads large files from a slow disk; the loader's threads wait for it."""
import os
from pathlib import Path

from own_training import knob, network, tf, train

mib, count = knob("MIB", 1), 120 if knob("MIB", 1) < 2 else 60
folder = Path("pictures")
folder.mkdir()
for number in range(count):
    with open(folder / f"{number}.bin", "wb") as file:
        file.write(os.urandom(max(mib << 20, 4096)))
        file.flush()
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def load(name):
    numbers = tf.io.decode_raw(tf.io.read_file(name), tf.uint8)
    return tf.ensure_shape(tf.cast(numbers[:4], tf.float32) / 255.0, (4,)), tf.ones((1,))


data = tf.data.Dataset.list_files("pictures/*.bin", shuffle=False).map(load, num_parallel_calls=2).batch(2)
train(network(), data, epochs=1)
