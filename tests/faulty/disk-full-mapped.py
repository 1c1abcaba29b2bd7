# /// zoo
# cause = "disk-full"
# tmpfs_mib = 4
# variants = ["MIB=12"]
# near = ["MIB=1"]
# ///
"""Keeps its batches in a mapped file on a disk that is too small for it."""
import mmap

from own_training import batches, knob, network, np, train

mib = knob("MIB", 8)
files = []


def share(step):
    if step != 30:
        return
    file = open("small/batch", "w+b")
    file.truncate(mib << 20)
    area = np.frombuffer(mmap.mmap(file.fileno(), mib << 20), "uint8")
    area[:] = 1
    files.append(area)


train(network(), batches(800), epochs=2, on_step=share)
