# /// zoo
# cause = "filter-never-passes"
# stall_after_s = 20
# variants = ["LOOP=custom", "AFTER=12"]
# near = ["SELDOM=60000"]
# ///
"""A filter over an endless dataset lets nothing through; the loader's threads are busy with it."""
from own_training import batches, knob, network, tf, train

seldom, after = knob("SELDOM", 0), knob("AFTER", 0)
numbers = tf.data.Dataset.range(600_000) if seldom else tf.data.Dataset.range(10**12)
data = numbers.filter((lambda n: n % seldom == 0) if seldom else (lambda n: n < after * 4))
data = data.map(lambda n: (tf.ones((4,)) * tf.cast(n % 7, tf.float32), tf.ones((1,)))).batch(4)
train(network(), data, epochs=2)
