"""A trained detector as one file: its spec and its weights, in numpy's .npz.

Not HDF5: on a full disk `.weights.h5` ends the process with SIGSEGV, and numpy raises an error.
"""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from holdfast import atomic_write
from holdfast.detectors.anchors.anchor_defaults import shapes_of
from holdfast.detectors.anchors.grid import LevelShapes
from holdfast.detectors.backbones.imagenet_weights import WeightsDoNotFit
from holdfast.detectors.build import Detector, build
from holdfast.detectors.model_paths import SPEC_NAME, find_model
from holdfast.detectors.spec import DetectorSpec, from_json
from holdfast.errors import HoldfastError

#: Names of the weights that have numbers for each class.
CLASS_HEADS = re.compile(r"class_out(_\d+)?/(out/)?(kernel|bias)$|region_head/box_out/")

Array = NDArray[np.generic]


class NotAModelFile(HoldfastError):
    """The file was not written by `save`."""

    slug = "not-a-model-file"


@dataclass(frozen=True, slots=True)
class WeightLoadReport:
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
    with atomic_write.replacing(path) as file:
        np.savez(file, **{SPEC_NAME: header}, **arrays)  # type: ignore[arg-type]


def load(path: Path, *, precision: str | None = None) -> Detector:
    """The detector that the file holds; its weights are float32 whatever the `precision` of the computation."""
    spec, arrays = read(path)
    detector = build(replace(spec, precision=precision or spec.precision))
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
    path: Path,
    classes: tuple[str, ...],
    *,
    input_size: tuple[int, int] | None = None,
    precision: str | None = None,
    expected: Mapping[str, str] | None = None,
    rematerialise: bool = False,
    seed: int = 0,
) -> tuple[Detector, WeightLoadReport]:
    """The file's detector for other classes: the heads that depend on their number are made again, all else is kept.
    Anchors that were fitted grow with the input.

    `expected` names the detector and the backbone that a recipe asks for; a file of others is refused.
    """
    spec, arrays = read(path)
    held = {"model.detector": spec.detector, "model.backbone": spec.backbone}
    other = {name: wanted for name, wanted in (expected or {}).items() if held[name] != wanted}
    if other:
        raise WeightsDoNotFit(
            "the weights are those of another detector than the recipe asks for",
            where=path,
            found=[f"{name} is {wanted!r}, the file holds {held[name]!r}" for name, wanted in other.items()],
            change=[f'{name} = "{held[name]}"' for name in other],
        )
    # As many classes with other names, or in another order, have heads of the same shape: they must not be kept.
    others = spec.classes if spec.classes != classes else ()
    spec = replace(
        spec, classes=classes, input=input_size or spec.input, precision=precision or spec.precision,
        anchors=_at_input(spec, input_size or spec.input, path), rematerialise=rematerialise,
    )  # fmt: skip
    detector = build(spec, seed=seed)
    return detector, fill(detector, arrays, of_classes=others)


def _at_input(spec: DetectorSpec, size: tuple[int, int], path: Path) -> LevelShapes | None:
    """The fitted anchors of a file, in pixels of another input."""
    if spec.anchors is None or size == spec.input:
        return spec.anchors
    levels = len(shapes_of(spec.detector, spec.backbone, size))
    if levels != len(spec.anchors):
        raise WeightsDoNotFit(
            f"at an input of {size[1]} the detector has {levels} levels, and the file holds anchors that were fitted "
            f"to {len(spec.anchors)}",
            where=path,
            change=f"model.input = {spec.input[1]}, which the file was trained with",
        )
    (height, width), (old_height, old_width) = size, spec.input
    return tuple(
        tuple((w * width / old_width, h * height / old_height) for w, h in level) for level in spec.anchors
    )


def fill(
    detector: Detector, arrays: Mapping[str, Array], *, of_classes: tuple[str, ...] = ()
) -> WeightLoadReport:
    """Give each variable the array of its name and shape; say which did not find one.

    `of_classes` are the file's, where they are others than the detector's: its class heads stay fresh then.
    """
    kept, fresh = [], []
    for variable in detector.variables:
        array = arrays.get(variable.path)
        shape = tuple(variable.shape)
        of_others = bool(of_classes) and CLASS_HEADS.search(variable.path) is not None
        if array is not None and array.shape == shape and not of_others:
            variable.assign(array)
            kept.append(variable.path)
        elif array is not None and array.shape == shape:
            fresh.append(f"{variable.path}: for other classes in the file ({', '.join(of_classes[:4])})")
        else:
            there = f"{array.shape} in the file" if array is not None else "not in the file"
            fresh.append(f"{variable.path}: {there}, {shape} here")
    names = {variable.path for variable in detector.variables}
    return WeightLoadReport(tuple(kept), tuple(fresh), tuple(name for name in arrays if name not in names))


def named_weights(detector: Detector) -> dict[str, Array]:
    """All weights by name, in a fixed order; seeds of random layers are not weights."""
    import keras

    named = {variable.path: keras.ops.convert_to_numpy(variable) for variable in detector.variables}
    if len(named) != len(detector.variables):
        raise AssertionError("two variables of the detector have the same name")
    return named


def read(path: Path) -> tuple[DetectorSpec, dict[str, Array]]:
    find_model(path)
    try:
        with np.load(path, allow_pickle=False) as content:
            spec = from_json(json.loads(content[SPEC_NAME].tobytes()))
            return spec, {name: content[name] for name in content.files if name != SPEC_NAME}
    except PermissionError:
        raise  # the command line has words for it
    except (ValueError, KeyError, TypeError, EOFError, OSError, zipfile.BadZipFile) as error:
        raise NotAModelFile(
            "the file is not a detector that Holdfast saved",
            where=path,
            found=" ".join(str(error).split())[:200] or type(error).__name__
            if zipfile.is_zipfile(path)
            else "no .npz archive, or only the beginning of one",
            change="give a model file that training wrote",
        ) from error
