# /// zoo
# cause = "cache-too-large"
# leads_to = "killed-for-memory"
# memory_mib = 1500
# quick = true
# variants = ["LOOP=custom", "SIDE=128 BATCH=32"]
# near = ["FIRST=1"]
# ///
"""Caches behind an endless repeat: every picture is kept again each time that it comes."""
from own_training import knob, picture_network, tf, train

side, rows, batch = knob("SIDE", 256), knob("ROWS", 200), knob("BATCH", 8)


def decode(number):
    picture = tf.random.stateless_uniform((side, side, 3), seed=(number, 7))
    return picture, tf.reduce_mean(picture)[None]


data = tf.data.Dataset.range(rows)
data = data.map(decode).cache().repeat() if knob("FIRST", 0) else data.shuffle(rows).repeat().map(decode).cache()
train(picture_network(), data.batch(batch).prefetch(1), epochs=40, steps_per_epoch=rows // batch)
