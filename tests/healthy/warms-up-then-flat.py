# /// zoo
# cause = "healthy"
# memory_mib = 1600
# ///
"""Memory rises through the first epoch, as the allocator, the cache and the library warm up, and stays."""
from own_training import knob, picture_network, tf, train


def decode(number):
    picture = tf.random.stateless_uniform((128, 128, 3), seed=(number, 7))
    return picture, tf.reduce_mean(picture)[None]


data = tf.data.Dataset.range(800).map(decode).cache().shuffle(200).batch(8).prefetch(tf.data.AUTOTUNE)
train(picture_network(), data, epochs=4)
