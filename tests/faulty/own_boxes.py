"""Images with one bright rectangle each, its box, and its class: how bright it is."""

from own_training import keras, np


def rectangles(count=600, side=48, classes=3, seed=0):
    """Images, boxes as corners in pixels, and class ids from 0."""
    random = np.random.default_rng(seed)
    images = random.normal(0, 0.05, (count, side, side, 1)).astype("float32")
    size = random.integers(side // 6, side // 2, (count, 2))
    corner = (random.random((count, 2)) * (side - size)).astype("int64")
    ids = random.integers(0, classes, count)
    for image, (x, y), (wide, high), kind in zip(images, corner, size, ids):
        image[y : y + high, x : x + wide] += 0.4 + 0.6 * kind
    return images, np.concatenate([corner, corner + size], axis=1).astype("float32"), ids


def trunk(inputs, width=8):
    layers = keras.layers
    x = layers.Conv2D(width, 3, strides=2, padding="same", activation="relu")(inputs)
    x = layers.Conv2D(2 * width, 3, strides=2, padding="same", activation="relu")(x)
    return layers.Conv2D(2 * width, 3, strides=2, padding="same", activation="relu")(x)
