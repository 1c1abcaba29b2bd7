# /// zoo
# cause = "shuffle-buffer-too-large"
# leads_to = "killed-for-memory"
# memory_mib = 1500
# quick = true
# variants = ["LOOP=custom", "SIDE=256 BUFFER=12000 BATCH=2", "LATE=1"]
# near = ["BUFFER=40", "BYTES=1"]
# ///
"""Shuffles decoded pictures: the buffer alone is larger than the memory."""
from own_training import keras, knob, picture_network, tf, train

side, buffer, batch = knob("SIDE", 512), knob("BUFFER", 2048), knob("BATCH", 4)


def decode(number):
    picture = tf.random.stateless_uniform((side, side, 3), seed=(number, 7))
    return picture, tf.reduce_mean(picture)[None]


numbers = tf.data.Dataset.range(60 if buffer < 100 or knob("BYTES", 0) else 100_000)
if knob("BYTES", 0):  # what is shuffled is a number of eight bytes, so the same buffer is small
    data = numbers.shuffle(buffer).map(decode).batch(batch)
elif knob("LATE", 0):
    data = numbers.map(decode).batch(batch).shuffle(buffer // batch).prefetch(1)
else:
    data = numbers.map(decode).shuffle(buffer).batch(batch)
train(picture_network(), data, epochs=2)
