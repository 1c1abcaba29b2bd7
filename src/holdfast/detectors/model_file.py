"""A trained detector as one file: its spec and its weights, in numpy's .npz.

Not HDF5: on a full disk `.weights.h5` ends the process with SIGSEGV, and numpy raises an error.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast import atomic_write, regular_file
from holdfast.detectors.anchors.anchor_defaults import shapes_of
from holdfast.detectors.anchors.grid import LevelShapes
from holdfast.detectors.build import Detector, build
from holdfast.detectors.class_heads import carry_classes, is_class_head
from holdfast.detectors.model_paths import SPEC_NAME, find_model
from holdfast.detectors.spec import DetectorSpec, from_json
from holdfast.errors import HoldfastError, WeightsDoNotFit

_LARGEST_SETTING = 1 << 20  # pixels of the input, channels, boxes
MOST_SHOWN = 6  # of the weights that start fresh

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
    carried: tuple[str, ...] = ()  # heads that kept the numbers of some classes
    known_classes: tuple[str, ...] = ()  # those classes

    def summary(self) -> str:
        if not self.fresh and not self.unused and not self.carried:
            return f"all {len(self.kept)} weights were kept"
        lines = [f"{len(self.kept)} weights were kept, {len(self.fresh)} start fresh"]
        if self.known_classes:
            names = ", ".join(self.known_classes[:6]) + (" …" if len(self.known_classes) > 6 else "")
            lines.append(f"  {len(self.carried)} heads keep what they learned about {names}")
        lines += [f"  {line}" for line in self.fresh[:MOST_SHOWN]]
        lines += [f"  … and {len(self.fresh) - MOST_SHOWN} more"] if len(self.fresh) > MOST_SHOWN else []
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
    """The file's detector for other classes: heads keep the numbers of classes that the file has by the same name, and
    start fresh for the others; all else is kept. Anchors that were fitted grow with the input.

    `expected` names the detector and the backbone that a recipe asks for; a file of others is refused.
    """
    spec, arrays = read(path)
    check_expected(spec, expected or {}, path)
    detector = build(adapted(spec, path, classes, input_size, precision, rematerialise), seed=seed)
    return detector, fill(detector, arrays, of_classes=spec.classes)


def check_expected(spec: DetectorSpec, expected: Mapping[str, str], path: Path) -> None:
    """A recipe that asks for another detector or backbone than the file holds is refused."""
    held = {"model.detector": spec.detector, "model.backbone": spec.backbone}
    other = {name: wanted for name, wanted in expected.items() if held[name] != wanted}
    if other:
        raise WeightsDoNotFit(
            "the weights are those of another detector than the recipe asks for",
            where=path,
            found=[f"{name} is {wanted!r}, the file holds {held[name]!r}" for name, wanted in other.items()],
            change=[f'{name} = "{held[name]}"' for name in other],
        )


def adapted(
    spec: DetectorSpec,
    path: Path | str,
    classes: tuple[str, ...],
    input_size: tuple[int, int] | None,
    precision: str | None,
    rematerialise: bool,
) -> DetectorSpec:
    """The spec of a file for another training."""
    return replace(
        spec, classes=classes, input=input_size or spec.input, precision=precision or spec.precision,
        anchors=_at_input(spec, input_size or spec.input, path), rematerialise=rematerialise,
    )  # fmt: skip


def _at_input(spec: DetectorSpec, size: tuple[int, int], path: Path | str) -> LevelShapes | None:
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

    `of_classes` are the file's: where they are others than the detector's, or in another order, its heads take over
    class by class what has the same name.
    """
    kept, fresh, carried = [], [], []
    spec = detector.spec
    others = of_classes if of_classes != spec.classes else ()
    for variable in detector.variables:
        array = arrays.get(variable.path)
        shape = tuple(variable.shape)
        of_others = bool(others) and is_class_head(variable.path)
        if array is not None and of_others:
            moved = carry_classes(
                variable.path, np.asarray(array), np.asarray(variable), others, spec.classes,
                background=spec.detector != "retinanet" or spec.variant == "object-detection-api",
            )  # fmt: skip
            if moved is not None:
                variable.assign(moved)
                carried.append(variable.path)
                continue
        if array is not None and array.shape == shape and not of_others:
            variable.assign(array)
            kept.append(variable.path)
        elif array is not None and array.shape == shape:
            fresh.append(f"{variable.path}: for other classes in the file ({', '.join(others[:4])})")
        else:
            there = f"{array.shape} in the file" if array is not None else "not in the file"
            fresh.append(f"{variable.path}: {there}, {shape} here")
    names = {variable.path for variable in detector.variables}
    return WeightLoadReport(
        tuple(kept), tuple(fresh), tuple(name for name in arrays if name not in names), tuple(carried),
        tuple(name for name in spec.classes if name in others) if carried else (),
    )  # fmt: skip


def named_weights(detector: Detector) -> dict[str, Array]:
    """All weights by name, in a fixed order; seeds of random layers are not weights."""
    import keras

    named = {variable.path: keras.ops.convert_to_numpy(variable) for variable in detector.variables}
    if len(named) != len(detector.variables):
        raise AssertionError("two variables of the detector have the same name")
    return named


def _refuse_huge(value: Any) -> None:
    """ValueError for a number that no detector has, before a network of that size is built."""
    if isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            _refuse_huge(one)
    elif isinstance(value, int | float) and not abs(value) <= _LARGEST_SETTING:
        raise ValueError(f"it describes a detector with a setting of {str(value)[:40]}")


def read(path: Path) -> tuple[DetectorSpec, dict[str, Array]]:
    find_model(path)
    try:
        regular_file.refuse_bomb(path)
        with np.load(path, allow_pickle=False) as content:
            stored = json.loads(content[SPEC_NAME].tobytes())
            _refuse_huge(stored)
            return from_json(stored), {name: content[name] for name in content.files if name != SPEC_NAME}
    except PermissionError:
        raise  # the command line has words for it
    except (*regular_file.UNREADABLE_ARCHIVE, OSError, zipfile.BadZipFile) as error:
        raise NotAModelFile(
            "the file is not a detector that Holdfast saved",
            where=path,
            found=" ".join(str(error).split())[:200] or type(error).__name__
            if zipfile.is_zipfile(path)
            else "no .npz archive, or only the beginning of one",
            change="give a model file that training wrote",
        ) from error
