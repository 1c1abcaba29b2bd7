# /// zoo
# cause = "healthy"
# ///
"""Broken pictures are found and left out before the training, by the script itself."""
from pathlib import Path

from own_training import np, picture_network, tf, train

folder = Path("pictures")
folder.mkdir()
random = np.random.default_rng(0)
good = []
for number in range(40):
    jpeg = tf.io.encode_jpeg(random.integers(0, 255, (64, 64, 3), "uint8")).numpy()
    (folder / f"{number}.jpg").write_bytes(jpeg[:200] if number % 9 == 4 else jpeg)
for path in sorted(folder.iterdir()):
    try:
        tf.io.decode_jpeg(path.read_bytes())
        good.append(str(path))
    except tf.errors.InvalidArgumentError as error:
        print("left out:", path, str(error)[:60])


def decode(name):
    return tf.ensure_shape(tf.cast(tf.io.decode_jpeg(tf.io.read_file(name), channels=3), tf.float32), (64, 64, 3)) / 255.0, tf.ones((1,))


train(picture_network(), tf.data.Dataset.from_tensor_slices(good).map(decode).batch(4), epochs=2)
