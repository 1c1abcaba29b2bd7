# /// zoo
# cause = "prefetch-too-deep"
# leads_to = "killed-for-memory"
# memory_mib = 1500
# variants = ["LOOP=custom DEPTH=900", "SIDE=320 BATCH=16"]
# near = ["DEPTH=3"]
# ///
"""Reads far ahead of a slow consumer."""
import time

from own_training import knob, picture_network, tf, train

side, depth, batch = knob("SIDE", 512), knob("DEPTH", 500), knob("BATCH", 4)


def decode(number):
    picture = tf.random.stateless_uniform((side, side, 3), seed=(number, 7))
    return picture, tf.reduce_mean(picture)[None]


data = tf.data.Dataset.range(160 if depth < 10 else 100_000).map(decode).batch(batch).prefetch(depth)
train(picture_network(), data, epochs=1, on_step=lambda step: time.sleep(0.3))
