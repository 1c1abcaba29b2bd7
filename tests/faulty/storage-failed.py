# /// zoo
# cause = "storage-failed"
# variants = ["HOW=tf", "HOW=loader"]
# near = ["HOW=none"]
# ///
"""Reads its data from a file that the kernel cannot read."""
from pathlib import Path

from own_training import batches, keras, knob, network, np, tf, train

how = knob("HOW", "python")
source = Path("shard-0.bin")
if how == "none":
    source.write_bytes(np.ones(64, np.float32).tobytes())
else:
    source.symlink_to("/proc/self/mem")  # nothing is mapped at its beginning: EIO, as of a disk that fails


def rows():
    with open(source, "rb") as file:
        values = np.frombuffer(file.read(256), np.float32)
    for _ in range(160):
        yield values[:32].reshape(8, 4), np.ones((8, 1), np.float32)


data = batches(160)
if how == "python":
    rows().__next__()
elif how == "tf":
    tf.io.read_file(str(source))
elif how == "loader":
    shape = (tf.TensorSpec((8, 4)), tf.TensorSpec((8, 1)))
    data = tf.data.Dataset.from_generator(rows, output_signature=shape)
train(network(), data, epochs=2)
