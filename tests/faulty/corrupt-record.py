# /// zoo
# cause = "corrupt-record"
# variants = ["HOW=cut", "LOOP=custom SHARDS=4", "SHARDS=3 HOW=cut"]
# near = ["HOW=none"]
# ///
"""One record of a TFRecord file is damaged."""
from own_training import knob, network, np, tf, train

how, shards = knob("HOW", "flip"), knob("SHARDS", 1)
for shard in range(shards):
    with tf.io.TFRecordWriter(f"train-{shard}.tfrecord") as writer:
        for number in range(200 // shards):
            writer.write(np.full(100, number, "float32").tobytes())
name = f"train-{shards - 1}.tfrecord"
content = bytearray(open(name, "rb").read())
if how == "cut":
    content = content[: int(len(content) * 0.6) + 50]  # within a record: TensorFlow takes a cut header for the end
elif how == "flip":
    content[int(len(content) * 0.6)] ^= 0xFF
open(name, "wb").write(content)


def parse(record):
    values = tf.reshape(tf.io.decode_raw(record, tf.float32), (100,))
    return values / 200.0, values[:1] / 200.0


files = [f"train-{shard}.tfrecord" for shard in range(shards)]
train(network(), tf.data.TFRecordDataset(files).map(parse).batch(8), epochs=2)
