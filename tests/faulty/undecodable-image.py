# /// zoo
# cause = "undecodable-image"
# quick = true
# variants = ["LOOP=custom HOW=html", "HOW=empty", "HOW=pil", "HOW=cut BAD=3"]
# near = ["HOW=none"]
# ///
"""One of the pictures is cut short, empty or a web page under a picture's name."""
from pathlib import Path

from own_training import keras, knob, np, picture_network, tf, train

how, bad = knob("HOW", "cut"), knob("BAD", 31)
folder = Path("pictures")
folder.mkdir()
random = np.random.default_rng(knob("SEED", 0))
for number in range(60):
    jpeg = tf.io.encode_jpeg(random.integers(0, 255, (64, 64, 3), "uint8")).numpy()
    if number == bad and how != "none":
        jpeg = {"html": b"<html>404</html>", "empty": b""}.get(how, jpeg[: len(jpeg) // 3])
    (folder / f"img_{number:04d}.jpg").write_bytes(jpeg)


def decode(name):
    return tf.ensure_shape(tf.cast(tf.io.decode_jpeg(tf.io.read_file(name), channels=3), tf.float32), (64, 64, 3)) / 255.0


def decode_with_pillow(name):
    from PIL import Image

    return np.asarray(Image.open(name.decode()).convert("RGB"), "float32") / 255.0


names = tf.data.Dataset.list_files("pictures/*.jpg", shuffle=False)
if how == "pil":
    data = names.map(lambda name: tf.ensure_shape(tf.numpy_function(decode_with_pillow, (name,), tf.float32), (64, 64, 3)))
else:
    data = names.map(decode)
train(picture_network(), data.map(lambda x: (x, tf.ones((1,)))).batch(4), epochs=2)
