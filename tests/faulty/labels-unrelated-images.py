# /// zoo
# cause = "labels-unrelated"
# variants = ["DATA=arrays"]
# near = ["SORTED=number", "DATA=arrays SORTED=number"]
# limit_s = 300
# ///
"""Images are read in the order of their names, 10 before 2; their labels are in the order of their numbers."""
import pathlib

import tensorflow as tf
from own_training import keras, knob, np

rng = np.random.default_rng(3)
folder, labels = pathlib.Path("tiles"), []
folder.mkdir(exist_ok=True)
for number in range(800):
    tile = rng.integers(40, 90, (24, 24, 3)).astype("uint8")
    spotted = int(rng.random() < 0.5)
    for row, column in rng.integers(2, 20, (4 * spotted, 2)):
        tile[row : row + 4, column : column + 4] = (220, 120, 40)
    (folder / f"tile-{number}.png").write_bytes(tf.io.encode_png(tile).numpy())
    labels.append(spotted)
by_number = knob("SORTED", "name") == "number"
paths = sorted(map(str, folder.glob("*.png")), key=(lambda path: int(path[11:-4])) if by_number else None)


def read(path, label):
    image = tf.io.decode_png(tf.io.read_file(path), channels=3)
    return tf.ensure_shape(tf.cast(image, tf.float32) / 255.0, (24, 24, 3)), label


data = tf.data.Dataset.from_tensor_slices((paths, np.array(labels, "float32"))).map(read).cache()
layers = [
    keras.layers.Conv2D(12, 3, activation="relu"),
    keras.layers.GlobalMaxPooling2D(),
    keras.layers.Dense(16, activation="relu"),
    keras.layers.Dense(1, activation="sigmoid"),
]
model = keras.Sequential(layers)
model.compile(keras.optimizers.Adam(2e-3), "binary_crossentropy", metrics=["accuracy"])
if knob("DATA", "tf") == "arrays":
    images = np.stack([image for image, _ in data.as_numpy_iterator()])
    model.fit(images, np.array(labels, "float32"), epochs=8, verbose=2)
else:
    model.fit(data.shuffle(800, seed=1).batch(32), epochs=8, verbose=2)
