# /// zoo
# cause = "larger-sample-than-before"
# leads_to = "killed-for-memory"
# memory_mib = 1500
# variants = ["LOOP=custom", "AT=70"]
# near = ["SIDE=128"]
# ///
"""All pictures are small but one, and with that one the step needs more memory than there is."""
from own_training import keras, knob, np, tf, train

at, side = knob("AT", 45), knob("SIDE", 3000)


def examples():
    for number in range(120):
        edge = side if number == at else 96
        yield np.ones((1, edge, edge, 3), "float32"), np.ones((1, 1), "float32")


layers = keras.layers
model = keras.Sequential([layers.Conv2D(32, 3, padding="same", activation="relu"), layers.Conv2D(32, 3, padding="same"), layers.GlobalAveragePooling2D(), layers.Dense(1)])
shapes = (tf.TensorSpec((1, None, None, 3)), tf.TensorSpec((1, 1)))
train(model, tf.data.Dataset.from_generator(examples, output_signature=shapes), epochs=2)
