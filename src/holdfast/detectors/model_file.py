"""A trained detector as one file: its spec and its weights, in numpy's .npz.

Not HDF5: on a full disk `.weights.h5` ends the process with SIGSEGV, and numpy raises an error.
"""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from holdfast.detectors.backbone_weights import WeightsDoNotFit
from holdfast.detectors.build import Detector, build
from holdfast.detectors.spec import DetectorSpec, from_json
from holdfast.errors import HoldfastError, PathMissing

_SPEC = "holdfast.json"

#: What a run calls its model.
MODEL_NAME = "model.npz"

Array = NDArray[np.generic]


class NotAModelFile(HoldfastError):
    """The file was not written by `save`."""

    slug = "not-a-model-file"


@dataclass(frozen=True, slots=True)
class Fit:
    """What became of each weight when one model's file was loaded into another model."""

    kept: tuple[str, ...]
    fresh: tuple[str, ...]  # "name: (1, 1, 128, 12) in the file, (1, 1, 128, 24) here"
    unused: tuple[str, ...]

    def summary(self) -> str:
        if not self.fresh and not self.unused:
            return f"all {len(self.kept)} weights were kept"
        lines = [f"{len(self.kept)} weights were kept, {len(self.fresh)} start fresh"]
        lines += [f"  {line}" for line in self.fresh]
        lines += [f"  {name}: in the file, not used" for name in self.unused]
        return "\n".join(lines)


def save(detector: Detector, path: Path) -> None:
    """Write beside the target and rename, so that a file under this name is always whole."""
    arrays: dict[str, Array] = {name: np.asarray(value) for name, value in named_weights(detector).items()}
    header = np.frombuffer(json.dumps(detector.spec.as_json()).encode(), dtype=np.uint8)
    partial = path.with_name(f".{path.name}.partial")
    with partial.open("wb") as file:
        np.savez(file, **{_SPEC: header}, **arrays)  # type: ignore[arg-type]
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)


def load(path: Path) -> Detector:
    """The detector that the file holds."""
    spec, arrays = read(path)
    detector = build(spec)
    fit = fill(detector, arrays)
    if fit.fresh or fit.unused:
        raise WeightsDoNotFit(
            "the weights in the file are not those of the detector that it describes",
            where=path,
            found=fit.summary().splitlines()[:8],
            change="save the model again with this version of Holdfast",
        )
    return detector


def fine_tune(
    path: Path, classes: tuple[str, ...], *, input_size: tuple[int, int] | None = None
) -> tuple[Detector, Fit]:
    """The file's detector for other classes: the heads that depend on their number are made anew, all else is kept."""
    spec, arrays = read(path)
    spec = replace(spec, classes=classes, input=input_size or spec.input)
    detector = build(spec)
    return detector, fill(detector, arrays)


def fill(detector: Detector, arrays: Mapping[str, Array]) -> Fit:
    """Give each variable the array of its name and shape; say which did not find one."""
    kept, fresh = [], []
    for variable in detector.variables:
        array = arrays.get(variable.path)
        shape = tuple(variable.shape)
        if array is not None and array.shape == shape:
            variable.assign(array)
            kept.append(variable.path)
        else:
            there = f"{array.shape} in the file" if array is not None else "not in the file"
            fresh.append(f"{variable.path}: {there}, {shape} here")
    names = {variable.path for variable in detector.variables}
    return Fit(tuple(kept), tuple(fresh), tuple(name for name in arrays if name not in names))


def named_weights(detector: Detector) -> dict[str, Array]:
    """All weights by name, in a fixed order; seeds of random layers are not weights."""
    import keras

    named = {variable.path: keras.ops.convert_to_numpy(variable) for variable in detector.variables}
    if len(named) != len(detector.variables):
        raise AssertionError("two variables of the detector have the same name")
    return named


def find(path: Path) -> Path:
    """The model file that a path means: itself, or the one that a run's folder holds."""
    if path.is_dir():
        held = path / MODEL_NAME
        if not held.is_file():
            raise PathMissing(
                "the folder holds no trained model",
                where=path,
                found=f"no {MODEL_NAME} in it",
                change="give a run that has saved a model, or a model file itself",
            )
        return held
    return path


def read(path: Path) -> tuple[DetectorSpec, dict[str, Array]]:
    if not path.is_file():
        raise PathMissing(
            "the model file does not exist", where=path, change="give a file that training wrote"
        )
    try:
        with np.load(path, allow_pickle=False) as content:
            spec = from_json(json.loads(content[_SPEC].tobytes()))
            return spec, {name: content[name] for name in content.files if name != _SPEC}
    except (ValueError, KeyError, TypeError, EOFError, OSError, zipfile.BadZipFile) as error:
        raise NotAModelFile(
            "the file is not a detector that Holdfast saved",
            where=path,
            found=" ".join(str(error).split())[:200] or type(error).__name__,
            change="give a model file that training wrote",
        ) from error
