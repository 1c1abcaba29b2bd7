# /// zoo
# cause = "wrong-channels"
# variants = ["CHANNELS=4", "CHANNELS=1 LOOP=custom", "HOW=model"]
# near = ["HOW=convert"]
# ///
"""Some pictures are grey or carry an alpha channel, and nobody converts them."""
from pathlib import Path

from own_training import keras, knob, np, picture_network, tf, train

how, odd = knob("HOW", "mixed"), knob("CHANNELS", 1)
folder = Path("pictures")
folder.mkdir()
random = np.random.default_rng(1)
for number in range(40):
    channels = odd if number == 23 or how == "model" else 3
    (folder / f"{number:03d}.png").write_bytes(tf.io.encode_png(random.integers(0, 255, (48, 48, channels), "uint8")).numpy())


def decode(name):
    picture = tf.io.decode_png(tf.io.read_file(name), channels=3 if how == "convert" else 0)
    return tf.cast(picture, tf.float32) / 255.0, tf.ones((1,))


data = tf.data.Dataset.list_files("pictures/*.png", shuffle=False).map(decode).batch(4)
layers = keras.layers
model = keras.Sequential([keras.Input((48, 48, 3)), layers.Conv2D(4, 3), layers.GlobalAveragePooling2D(), layers.Dense(1)])
train(model, data, epochs=2)
