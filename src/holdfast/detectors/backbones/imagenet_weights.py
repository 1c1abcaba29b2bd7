"""ImageNet weights for a backbone, from wherever they are, and a clear word when they are not there."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import keras

from holdfast.errors import DownloadBlocked, NotAFolder, PathMissing, WeightsDoNotFit
from holdfast.settings.pretrained import NAMES

_APPLICATION = {"mobilenet_v2": "MobileNetV2", "resnet50": "ResNet50", "vgg16": "VGG16"}
_ENDINGS = (".weights.h5", ".h5", ".hdf5")


def load_backbone_weights(network: keras.Model, name: str, weights: str) -> None:
    """Fill `network` with the weights that `weights` names: "imagenet", a file, or a folder that holds one."""
    donor = _download(name) if weights == "imagenet" else _read(network, name, find_file(weights, name))
    if donor is network:
        return
    for layer in donor.layers:
        values = layer.get_weights()
        if values:
            network.get_layer(layer.name).set_weights(values)


def find_file(weights: str, name: str) -> Path:
    """The file itself, or the one file of a folder whose name says that it is this backbone's."""
    path = Path(weights)
    if path.is_file():
        return path
    if not path.exists():
        raise PathMissing(
            f"the weights for {name} are not there",
            where=path,
            change=[
                'give a file, a folder that holds it, or "imagenet" for Keras\' own download',
                f"torchvision's trained detectors are called {', '.join(NAMES)}",
                "presets of KerasHub are not read: their networks differ from keras.applications'",
            ],
        )
    if not path.is_dir():
        raise NotAFolder("the weights are neither a file nor a folder", where=path)
    wanted = name.replace("_", "")
    files = sorted(file for file in path.rglob("*") if file.name.endswith(_ENDINGS))
    fitting = [file for file in files if wanted in file.name.lower().replace("_", "").replace("-", "")]
    if len(fitting) != 1:
        raise PathMissing(
            f"the folder does not hold exactly one file of weights for {name}",
            where=path,
            found=[file.name for file in (fitting or files)[:5]] or "no .h5 file",
            change=f"name the file itself, or leave one file with {name!r} in its name",
        )
    return fitting[0]


def _read(network: keras.Model, name: str, path: Path) -> keras.Model:
    # VGG16 here has two layers more than Keras' network, so its weights go through a plain copy of that.
    target = _application(name)(include_top=False, weights=None) if name == "vgg16" else network
    kernels = [variable for variable in target.trainable_variables if len(variable.shape) > 1]
    before = [keras.ops.convert_to_numpy(kernel).copy() for kernel in kernels]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Keras warns of every container that a file does not have
            target.load_weights(path)
    except (ValueError, KeyError, OSError, TypeError) as error:
        raise WeightsDoNotFit(
            f"the file does not hold weights of {name} without its classifier",
            where=path,
            found=" ".join(str(error).split())[:300],
            change=f"give the file that {_source(name)} saves{' or downloads' if name in _APPLICATION else ''}",
        ) from error
    # A file of the right form may still lack layers, and Keras leaves those as they were.
    untouched = [
        kernel.path for kernel, old in zip(kernels, before, strict=True)
        if (keras.ops.convert_to_numpy(kernel) == old).all()
    ]  # fmt: skip
    if untouched:
        raise WeightsDoNotFit(
            f"the file lacks weights that {name} has",
            where=path,
            found=f"{len(untouched)} of {len(kernels)} are not in it: {', '.join(untouched[:3])} …",
            change=f"give a whole file of {_source(name)}",
        )
    return target


def _source(name: str) -> str:
    """Whose weights fit."""
    if name in _APPLICATION:
        return f"keras.applications.{_APPLICATION[name]}(include_top=False)"
    return f"holdfast.detectors.{name.rstrip('0123456789')}.{name}"


def _download(name: str) -> keras.Model:
    if name not in _APPLICATION:
        raise DownloadBlocked(
            f"there are no ImageNet weights of {name} to download",
            change=["give a file of weights", "train from fresh weights: leave `weights` out"],
        )
    try:
        return _application(name)(include_top=False, weights="imagenet")
    except Exception as error:  # Keras raises plain Exception with the address in its text
        raise DownloadBlocked(
            f"the ImageNet weights of {name} could not be downloaded",
            found=" ".join(str(error).split())[:300],
            change=[
                'download the file on a machine that may, and give its path: weights = "FILE"',
                "train from fresh weights: leave `weights` out",
            ],
        ) from error


def _application(name: str) -> Any:
    return getattr(keras.applications, _APPLICATION[name])
