# /// zoo
# cause = "path-missing"
# ///
"""The records are looked for in a folder of another machine; TensorFlow says so at the first batch."""
import tensorflow as tf


def parse(example):
    found = tf.io.parse_single_example(
        example, {"x": tf.io.FixedLenFeature([4], tf.float32), "y": tf.io.FixedLenFeature([1], tf.float32)}
    )
    return found["x"], found["y"]


ds = tf.data.TFRecordDataset(["/mnt/nas/project/train-00000-of-00002.tfrecord"]).map(parse).batch(8)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(ds, epochs=3)
