# /// zoo
# cause = "corrupt-record"
# ///
"""Some bytes in the middle of a TFRecord file are wrong since it was copied."""
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)
with tf.io.TFRecordWriter("train.tfrecord") as writer:
    for _ in range(200):
        x = rng.rand(16).astype("float32")
        features = {
            "x": tf.train.Feature(float_list=tf.train.FloatList(value=x)),
            "y": tf.train.Feature(float_list=tf.train.FloatList(value=[x.sum()])),
        }
        writer.write(tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString())
with open("train.tfrecord", "r+b") as file:
    file.seek(0, 2)
    file.seek(int(file.tell() * 0.7))
    file.write(b"\x00" * 40)


def parse(example):
    spec = {"x": tf.io.FixedLenFeature([16], tf.float32), "y": tf.io.FixedLenFeature([1], tf.float32)}
    one = tf.io.parse_single_example(example, spec)
    return one["x"], one["y"]


ds = tf.data.TFRecordDataset("train.tfrecord").map(parse).repeat().batch(10)
model = tf.keras.Sequential([tf.keras.layers.Dense(8, activation="relu"), tf.keras.layers.Dense(1)])
model.compile("adam", "mse")
model.fit(ds, steps_per_epoch=20, epochs=4, verbose=2)
