"""Imported first by every working copy: data that needs the internet, made here with the same shapes and ranges.

Nothing of Keras is replaced but `load_data` of its datasets. Images are a pattern for each class plus noise, so a
sound network learns them within an epoch or two.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

os.environ.setdefault("MPLBACKEND", "Agg")
TRAIN, TEST = 6000, 1000  # fewer than the real sets have, so that an epoch takes a second


def images(count: int, shape: tuple[int, ...], classes: int, seed: int) -> tuple[Any, Any]:
    """uint8 images, 0 to 255, and their classes."""
    patterns = np.random.default_rng(7).random((classes, *shape)) ** 2
    random = np.random.default_rng(seed)
    labels = random.integers(0, classes, count)
    noisy = 0.7 * patterns[labels] + 0.3 * random.random((count, *shape))
    return (255 * noisy).astype("uint8"), labels.astype("uint8")


def sequences(count: int, classes: int, words: int, seed: int) -> tuple[Any, Any]:
    """Lists of word numbers; each class prefers words of its own."""
    random = np.random.default_rng(seed)
    labels = random.integers(0, classes, count)
    top = max(words, 200)
    texts = np.empty(count, dtype=object)
    for number, label in enumerate(labels):
        length = int(random.integers(40, 250))
        own = 10 + (random.integers(0, 20, length) * classes + label)
        common = np.minimum(random.zipf(1.3, length) + 3, top - 1)
        texts[number] = [1, *np.where(random.random(length) < 0.2, own, common).tolist()]
    return texts, labels


def _image_set(shape: tuple[int, ...], classes: int, *, column: bool) -> Any:
    def load_data(*_: Any, **__: Any) -> Any:
        halves = images(TRAIN, shape, classes, 1), images(TEST, shape, classes, 2)
        return tuple((x, y.reshape(-1, 1) if column else y) for x, y in halves)

    return load_data


def _text_set(classes: int) -> Any:
    def load_data(*_: Any, num_words: int | None = None, **__: Any) -> Any:
        words = num_words or 5000
        return sequences(TRAIN // 2, classes, words, 1), sequences(TEST, classes, words, 2)

    return load_data


def _housing(*_: Any, **__: Any) -> Any:
    random = np.random.default_rng(3)
    scale = np.array([9, 23, 7, 0.25, 0.12, 0.7, 28, 2, 9, 170, 2, 90, 7])
    x = np.abs(random.normal(1, 1, (506, 13))) * scale
    y = np.clip(22 + 9 * (x / scale - 1) @ np.linspace(-0.5, 0.5, 13) + random.normal(0, 1, 506), 5, 50)
    return (x[:404], y[:404]), (x[404:], y[404:])


DATASETS = {
    "mnist": _image_set((28, 28), 10, column=False), "fashion_mnist": _image_set((28, 28), 10, column=False),
    "cifar10": _image_set((32, 32, 3), 10, column=True), "cifar100": _image_set((32, 32, 3), 100, column=True),
    "imdb": _text_set(2), "reuters": _text_set(46), "boston_housing": _housing,
}  # fmt: skip


def array(value: Any) -> Any:
    """A list of numbers as an array; a list of arrays, for several inputs, stays one."""
    return np.asarray(value) if isinstance(value, list) and not isinstance(value[0], np.ndarray) else value


def shape(owner: Any, name: str) -> Any:
    """`input_shape` and `output_shape` of a layer, which Keras 3 has only on models."""
    if hasattr(owner, name) or not hasattr(owner, "trainable_weights"):
        return getattr(owner, name)
    return tuple(getattr(owner, name.partition("_")[0]).shape)


def load_dataset(name: str, *_: Any, **__: Any) -> Any:
    """seaborn's iris, from scikit-learn."""
    import pandas
    from sklearn.datasets import load_iris

    if name != "iris":
        raise ValueError(f"no stand-in for the dataset {name}")
    iris = load_iris()
    columns = ["sepal_length", "sepal_width", "petal_length", "petal_width"]
    table = pandas.DataFrame(iris.data, columns=columns)
    table["species"] = [iris.target_names[one] for one in iris.target]
    return table


def _install() -> None:
    import importlib

    for name, load_data in DATASETS.items():
        for root in ("keras.src.datasets", "keras.datasets", "keras._tf_keras.keras.datasets"):
            try:
                module = importlib.import_module(f"{root}.{name}")
            except ImportError:
                continue
            module.load_data = load_data  # type: ignore[attr-defined]
    for name, old in (("float", float), ("int", int), ("bool", bool), ("object", object)):
        if name not in np.__dict__:
            setattr(np, name, old)


_install()
