# /// zoo
# cause = "class-id-out-of-range"
# variants = ["LOOP=custom", "CLASSES=20 ID=20", "ID=-1"]
# near = ["ID=1"]
# ///
"""One label is not a class of the model's."""
from own_training import keras, knob, network, np, table, tf, train

classes = knob("CLASSES", 5)
x, _ = table(400)
labels = np.random.default_rng(0).integers(0, classes, len(x))
labels[257] = knob("ID", 7)
data = tf.data.Dataset.from_tensor_slices((x, labels)).batch(8)
train(network(classes), data, epochs=2, loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
