"""What a detector is, apart from its weights: everything needed to build it again."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from holdfast.detectors.anchors.grid import LevelShapes
from holdfast.detectors.model_paths import initial_model, read_spec
from holdfast.detectors.variants import VARIANTS
from holdfast.errors import ContradictorySettings, OutOfRange, nearest
from holdfast.pipeline.feed import ResizeMode

#: Which backbones each detector is made with; the first is its default.
BACKBONES: dict[str, tuple[str, ...]] = {
    "ssd": ("mobilenet_v2", "vgg16", "resnet50"),
    "retinanet": ("resnet50", "mobilenet_v2", "resnext50"),
    "faster-rcnn": ("resnet50", "mobilenet_v2", "resnext50"),
}

#: How an image is brought to the input's size: SSD's paper stretches, the pyramids' papers keep the shape.
RESIZING: dict[str, ResizeMode] = {"ssd": "stretch", "retinanet": "letterbox", "faster-rcnn": "letterbox"}

PRECISIONS = {"float32": "float32", "bfloat16": "mixed_bfloat16", "float16": "mixed_float16"}

SMALLEST_INPUT = 64  # below it the deepest level of a pyramid has no cell of its own


@dataclass(frozen=True, slots=True)
class DetectorSpec:
    """`input` is (height, width). `normalization` is "frozen-batch" (for pretrained weights) or "group"."""

    detector: str
    backbone: str
    classes: tuple[str, ...]
    input: tuple[int, int]
    normalization: str = "frozen-batch"
    precision: str = "float32"
    rematerialise: bool = False
    box_loss: str = "smooth-l1"  # or "giou", for SSD and RetinaNet
    anchors: LevelShapes | None = None  # in place of the paper's, as `holdfast anchors` fits them
    variant: str = ""  # whose arithmetic: Holdfast's own, or one of `detectors.variants`
    options: tuple[tuple[str, Any], ...] = ()  # what the variant's own configuration says of it

    @property
    def resizing(self) -> ResizeMode:
        own = dict(self.options).get("resizing")
        if own is not None:
            return "letterbox" if own == "letterbox" else "stretch"
        return VARIANTS[self.variant].resizing[self.detector] if self.variant else RESIZING[self.detector]

    @property
    def dtype_policy(self) -> str:
        return PRECISIONS[self.precision]

    def as_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


def suggested_normalization(backbone: str, weights: str | None) -> str:
    """Stored statistics where there are some; groups where a network starts from nothing."""
    return "frozen-batch" if weights is not None or backbone == "vgg16" else "group"


def from_json(content: dict[str, Any]) -> DetectorSpec:
    known = {field.name for field in dataclasses.fields(DetectorSpec)}
    values = {name: value for name, value in content.items() if name in known}
    anchors = values.get("anchors")
    values["classes"] = tuple(values["classes"])
    values["input"] = tuple(values["input"])
    values["options"] = tuple((name, _tuples(value)) for name, value in values.get("options", ()))
    values["anchors"] = anchors and tuple(tuple((float(w), float(h)) for w, h in level) for level in anchors)
    return check(DetectorSpec(**values))


def resizing_of(detector: str, weights: str | None) -> ResizeMode:
    """How images are brought to the input of the detector that a recipe trains: a model file may say so itself."""
    saved = initial_model(weights)
    stored = read_spec(saved) if saved is not None else {}
    return from_json(stored).resizing if stored.get("variant") else RESIZING[detector]


def _tuples(value: Any) -> Any:
    return tuple(_tuples(one) for one in value) if isinstance(value, list | tuple) else value


def check(spec: DetectorSpec) -> DetectorSpec:
    """The same spec, or an error that names the setting."""
    _one_of("variant", spec.variant, ("", *VARIANTS))
    networks = VARIANTS[spec.variant].networks if spec.variant else BACKBONES
    _one_of("model.detector", spec.detector, tuple(networks))
    _one_of("model.backbone", spec.backbone, networks[spec.detector])
    _one_of("train.precision", spec.precision, tuple(PRECISIONS))
    _one_of("normalization", spec.normalization, ("frozen-batch", "group"))
    _one_of(
        "box_loss", spec.box_loss, ("smooth-l1",) if spec.detector == "faster-rcnn" else ("smooth-l1", "giou")
    )
    if min(spec.input) < SMALLEST_INPUT:
        raise OutOfRange(
            "the input is too small for a detector",
            where="model.input",
            found=f"{spec.input[0]} x {spec.input[1]} pixels",
            change=f"model.input = {SMALLEST_INPUT} or more",
        )
    if spec.backbone == "vgg16" and min(spec.input) < 257:
        raise OutOfRange(
            "SSD on VGG16 shrinks its last maps below one cell",
            where="model.input",
            found=f"{spec.input[0]} x {spec.input[1]} pixels",
            change="model.input = 300, the paper's, or anything from 257 on",
        )
    if not spec.classes:
        raise OutOfRange(
            "a detector needs at least one class",
            where="data.classes",
            found="no classes",
            change="give data whose boxes have names, or name the classes in data.classes",
        )
    if spec.backbone == "vgg16" and spec.normalization == "group":
        raise ContradictorySettings(
            "VGG16 has no normalisation that could be replaced by groups",
            where="normalization",
            found="group",
            change="another backbone, or its own normalisation",
        )
    return spec


def _one_of(setting: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        close = nearest(value, allowed)
        raise OutOfRange(
            f"{setting} is not one that exists",
            where=setting,
            found=repr(value),
            change=f"{setting} = {close or allowed[0]!r}; it may be {', '.join(allowed)}",
        )
