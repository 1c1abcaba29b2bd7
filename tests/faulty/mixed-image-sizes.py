# /// zoo
# cause = "mixed-image-sizes"
# variants = ["LOOP=custom", "SIDE=90"]
# near = ["HOW=resize", "HOW=pad"]
# ///
"""Pictures of several sizes go into one batch."""
from pathlib import Path

from own_training import knob, np, picture_network, tf, train

how, side = knob("HOW", "as they are"), knob("SIDE", 80)
folder = Path("pictures")
folder.mkdir()
random = np.random.default_rng(0)
for number in range(40):
    height = side if number == 22 else 64
    (folder / f"{number:03d}.jpg").write_bytes(tf.io.encode_jpeg(random.integers(0, 255, (height, 64, 3), "uint8")).numpy())


def decode(name):
    picture = tf.cast(tf.io.decode_jpeg(tf.io.read_file(name), channels=3), tf.float32) / 255.0
    return (tf.image.resize(picture, (64, 64)) if how == "resize" else picture), tf.ones((1,))


data = tf.data.Dataset.list_files("pictures/*.jpg", shuffle=False).map(decode)
data = data.padded_batch(4) if how == "pad" else data.batch(4)
train(picture_network(), data, epochs=2)
