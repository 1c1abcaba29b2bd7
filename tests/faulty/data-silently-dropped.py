# /// zoo
# cause = "data-silently-dropped"
# variants = ["LOOP=custom", "AT=90"]
# near = ["AT=-1"]
# ///
"""Damaged records are passed over without a word, and the rest of the file with them."""
from own_training import knob, network, np, tf, train

at = knob("AT", 120)
with tf.io.TFRecordWriter("train.tfrecord") as writer:
    for number in range(200):
        writer.write(np.full(100, number, "float32").tobytes())
content = bytearray(open("train.tfrecord", "rb").read())
if at >= 0:
    content[at * (len(content) // 200) + 50] ^= 0xFF
open("train.tfrecord", "wb").write(content)


def parse(record):
    values = tf.reshape(tf.io.decode_raw(record, tf.float32), (100,))
    return values / 200.0, values[:1] / 200.0


data = tf.data.TFRecordDataset("train.tfrecord").map(parse).batch(8).ignore_errors()
train(network(), data.apply(tf.data.experimental.assert_cardinality(25)) if knob("KNOWN", 0) else data, epochs=3)
