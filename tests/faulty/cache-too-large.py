# /// zoo
# cause = "cache-too-large"
# leads_to = "killed-for-memory"
# memory_mib = 1500
# quick = true
# variants = ["LOOP=custom", "SIDE=300 BATCH=8", "LOOP=batch"]
# near = ["ROWS=60", "ROWS=120 FILE=1"]
# ///
"""Keeps every decoded picture in memory."""
from own_training import knob, picture_network, tf, train

side, rows, batch = knob("SIDE", 512), knob("ROWS", 4000), knob("BATCH", 4)


def decode(number):
    picture = tf.random.stateless_uniform((side, side, 3), seed=(number, 7))
    return picture, tf.reduce_mean(picture)[None]


data = tf.data.Dataset.range(rows).map(decode)
data = data.cache("decoded") if knob("FILE", 0) else data.cache()
train(picture_network(), data.batch(batch).prefetch(1), epochs=3)
