# /// zoo
# cause = "healthy"
# quick = true
# ///
"""A dataset whose size nobody can tell beforehand: Keras warns that it ran out of data, and all is well."""
from own_training import batches, network, train

data = batches(1600, batch=1).unbatch().filter(lambda x, y: x[0] > -1.0).shuffle(50).batch(16)
train(network(), data, epochs=4)
