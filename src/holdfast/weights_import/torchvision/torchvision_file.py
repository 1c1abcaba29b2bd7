"""A state dict of torchvision: which detector it is of, its classes, and its tensors by their present names. Numpy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from holdfast.errors import WeightsDoNotFit
from holdfast.settings.pretrained import PRETRAINED, PretrainedFile
from holdfast.weights_import.torchvision.architecture import (
    NOT_WEIGHTS,
    Architecture,
    current_name,
    recognise,
)
from holdfast.weights_import.torchvision.state_dict import StateDict, read_state_dict

#: Public files whose batch normalisations add nothing to the variance: they were trained before torchvision's did.
WITHOUT_EPSILON = ("258fb6c6", "eeacb38b")
KNOWN = (
    "ssd300_vgg16, ssdlite320_mobilenet_v3_large, retinanet_resnet50_fpn and fasterrcnn_resnet50_fpn (both versions), "
    "fasterrcnn_mobilenet_v3_large_fpn and its 320 form"
)


class TorchvisionFile:
    """`shapes` are those of the weights; `epsilon` is what batch normalisations add to the variance, None: as usual."""

    def __init__(self, path: Path, *, epsilon: float | None = None) -> None:
        self.path = path
        self._state: StateDict = read_state_dict(path)
        self.shapes = {
            current_name(name): shape
            for name, shape in self._state.shapes.items()
            if not NOT_WEIGHTS.search(name)
        }
        found = recognise(self.shapes)
        if found is None or found.outputs < 2:
            raise WeightsDoNotFit(
                "the file holds the weights of no detector that is known here",
                where=path,
                found=f"{len(self.shapes)} tensors: {', '.join(list(self.shapes)[:3])} …",
                change=f"give a state dict of torchvision's {KNOWN}",
            )
        public = _public_file(path)
        #: The two forms of Faster R-CNN on MobileNetV3 have the same tensors, and other inputs.
        self.architecture: Architecture = replace(found, input=public.input) if public else found
        usual = 0.0 if public and public.digest in WITHOUT_EPSILON else None
        self.epsilon = epsilon if epsilon is not None else usual

    def arrays(self) -> Iterator[tuple[str, NDArray[Any]]]:
        for name, array in self._state.arrays():
            if not NOT_WEIGHTS.search(name):
                yield current_name(name), array


def architecture_of(path: Path) -> Architecture:
    return TorchvisionFile(path).architecture


def _public_file(path: Path) -> PretrainedFile | None:
    """The public file that has this name, or at least its end."""
    digest = path.stem.rpartition("-")[2]
    return next((one for one in PRETRAINED if one.digest == digest), None)
