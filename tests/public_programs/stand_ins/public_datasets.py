"""keras.datasets without a download: small random data that can be learned (each class has its own pattern)."""

import functools
import os

import numpy as np

TRAIN = int(os.environ.get("PUBLIC_TRAIN", "256"))
TEST = int(os.environ.get("PUBLIC_TEST", "64"))


def images(count, shape, classes, seed):
    """uint8 images and their classes: a fixed pattern for each class, with noise."""
    patterns = np.random.RandomState(1).randint(0, 200, (classes, *shape))
    random = np.random.RandomState(seed)
    labels = np.arange(count) % classes
    random.shuffle(labels)
    return (patterns[labels] + random.randint(0, 56, (count, *shape))).astype("uint8"), labels


def _image_data(shape, classes, column, **asked):
    parts = [images(TRAIN, shape, classes, 2), images(TEST, shape, classes, 3)]
    return tuple((x, (y[:, None] if column else y).astype("uint8")) for x, y in parts)


def _reviews(path="imdb.npz", num_words=None, maxlen=None, **asked):
    words = num_words or 5000

    def part(count, seed):
        random = np.random.RandomState(seed)
        labels = random.randint(0, 2, count)
        lengths = random.randint(20, 120, count)
        texts = np.empty(count, dtype=object)
        for at, (label, length) in enumerate(zip(labels, lengths, strict=False)):
            low, high = (4, words // 2) if label else (words // 2, words)
            texts[at] = random.randint(low, high, length).tolist()
        return texts, labels

    return part(TRAIN, 2), part(TEST, 3)


def _houses(columns, **asked):
    def part(count, seed):
        x = np.random.RandomState(seed).rand(count, columns)
        return x, x.sum(axis=1) * 5

    return part(TRAIN, 2), part(TEST, 3)


def _word_index(path="imdb_word_index.json"):
    return {f"word{at}": at for at in range(1, 20000)}


LOADERS = {
    "mnist": functools.partial(_image_data, (28, 28), 10, False),
    "fashion_mnist": functools.partial(_image_data, (28, 28), 10, False),
    "cifar10": functools.partial(_image_data, (32, 32, 3), 10, True),
    "cifar100": functools.partial(_image_data, (32, 32, 3), 100, True),
    "imdb": _reviews,
    "boston_housing": functools.partial(_houses, 13),
    "california_housing": functools.partial(_houses, 8),
}
