"""Stands in for tensorflow_datasets: `load` gives small random datasets that can be learned, without a download."""

import re
from types import SimpleNamespace

import numpy as np
import public_datasets

_IMAGES = {  # name: (shape, classes)
    "mnist": ((28, 28, 1), 10),
    "omniglot": ((105, 105, 3), 60),
    "stl10": ((96, 96, 3), 10),
    "horses_or_humans": ((300, 300, 3), 2),
    "cifar10_corrupted/saturate_5": ((32, 32, 3), 10),
}
_DEFAULT = ((96, 96, 3), 5)


def disable_progress_bar():
    pass


def load(name, split=None, as_supervised=False, with_info=False, batch_size=None, **asked):
    splits = split if split is not None else {"train": "train", "test": "test"}
    loaded = _each(splits, lambda one: _part(name, str(one), as_supervised, batch_size))
    return (loaded, _info(name)) if with_info else loaded


def as_numpy(dataset):
    return [tuple(value.numpy() for value in one) for one in dataset]


def _each(splits, made):
    if isinstance(splits, dict):
        return {key: made(one) for key, one in splits.items()}
    if isinstance(splits, (list, tuple)):
        return [made(one) for one in splits]
    return made(splits)


def _count(split):
    total = public_datasets.TRAIN if split.startswith(("train", "unlabel")) else public_datasets.TEST
    bounds = re.search(r"\[(\d*)%?:(\d*)%?\]", split)
    if bounds is None:
        return total
    low, high = int(bounds[1] or 0), int(bounds[2] or 100)
    return max(total * (min(high, 100) - min(low, 90)) // 100, 1)


def _part(name, split, as_supervised, batch_size):
    import tensorflow as tf

    made = _rows(name, _count(split), seed=len(split))
    keys = list(made)
    data = tf.data.Dataset.from_tensor_slices((made[keys[0]], made[keys[1]]) if as_supervised else made)
    return data if batch_size is None else data.batch(batch_size)


def _rows(name, count, seed):
    if "wine" in name:
        return _wine(count, seed)
    if "imdb" in name:
        return _texts(count, seed)
    shape, classes = _IMAGES.get(name, _DEFAULT)
    x, y = public_datasets.images(count, shape, classes, seed)
    made = {"image": x, "label": y.astype("int64")}
    if "birds" in name:
        made["bbox"] = np.tile(np.float32([0.1, 0.1, 0.9, 0.9]), (count, 1))
    if "pet" in name:
        made["segmentation_mask"] = (x[..., :1] // 100 + 1).astype("uint8")
    return made


def _wine(count, seed):
    random = np.random.RandomState(seed)
    names = ["fixed acidity", "volatile acidity", "citric acid", "residual sugar", "chlorides", "free sulfur dioxide",
             "total sulfur dioxide", "density", "pH", "sulphates", "alcohol"]  # fmt: skip
    features = {name: random.rand(count).astype("float32") for name in names}
    return {"features": features, "quality": (sum(features.values()) / 2).astype("float32")}


def _texts(count, seed):
    random = np.random.RandomState(seed)
    labels = random.randint(0, 2, count)
    texts = [
        " ".join(f"{'good' if one else 'bad'}{random.randint(0, 50)}" for _ in range(30)) for one in labels
    ]
    return {"text": np.array(texts), "label": labels.astype("int64")}


def _info(name):
    shape, classes = _IMAGES.get(name, _DEFAULT)
    names = [f"class{at}" for at in range(classes)]
    label = SimpleNamespace(num_classes=classes, names=names, int2str=lambda at: names[int(at)])
    image = SimpleNamespace(shape=shape)
    sizes = {"train": public_datasets.TRAIN, "test": public_datasets.TEST}
    splits = {key: SimpleNamespace(num_examples=count) for key, count in sizes.items()}
    return SimpleNamespace(features={"label": label, "image": image}, splits=splits)
