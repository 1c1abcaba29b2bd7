"""Every setting: its type, default, range and comment.

The names are a contract. A setting is a dataclass field made by `setting`; `read` checks it and
`write` prints it, so a setting is defined in one place.
"""

from __future__ import annotations

import json
from dataclasses import MISSING, Field, dataclass, field
from typing import Any, NamedTuple

from holdfast.shared_limits import MAX_PROCESSES


class Rule(NamedTuple):
    """What a setting allows, beyond its type."""

    doc: str
    choices: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    low_open: bool = False  # `low` itself is excluded
    example: Any = None  # shown, commented out, where the default is None
    pattern: str = ""
    pattern_says: str = ""


def setting(default: Any, doc: str, **rule: Any) -> Any:
    metadata = {"rule": Rule(doc, **rule)}
    if default is MISSING:
        return field(metadata=metadata)
    if isinstance(default, list):
        return field(default_factory=lambda: list(default), metadata=metadata)
    return field(default=default, metadata=metadata)


_SPAN = r"\d+(\.\d+)?\s*(s|min|h)"
_SPAN_SAYS = 'a number of steps, or a time such as "30s", "10min", "1h"'


@dataclass(frozen=True, slots=True, kw_only=True)
class Data:
    train: str = setting(
        MISSING,
        "training data: a folder or file (COCO, VOC, YOLO, CSV, labelme, TFRecord), a TFRecord glob, or gs://…",
        example="data/train",
    )
    validation: str | None = setting(None, "validation data; or set validation_fraction", example="data/val")
    validation_fraction: float | None = setting(
        None,
        "hold out this fraction of train, always the same images",
        low=0,
        high=0.9,
        low_open=True,
        example=0.2,
    )
    classes: list[str] | None = setting(
        None, "class names in order; default: taken from the data", example=["a", "b"]
    )
    augment: str = setting(
        "light", "image augmentation: flip, scale, colour; strong also crops and mixes",
        choices=("none", "light", "strong"),
    )  # fmt: skip
    resize: str = setting(
        "auto", "resize training images on the CPU (host) or in the step (device); auto: in the step on a GPU",
        choices=("auto", "host", "device"),
    )  # fmt: skip
    skip_bad: int = setting(
        0,
        "how many undecodable images to report and replace by another before the run fails",
        low=0,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    detector: str = setting("ssd", "detector architecture", choices=("ssd", "retinanet", "faster-rcnn"))
    backbone: str = setting(
        "mobilenet_v2",
        "network that extracts the features",
        choices=(
            "mobilenet_v2",
            "resnet50",
            "resnext50",
            "vgg16",
            "resnet101",
            "resnet152",
            "mobilenet_v3_large",
        ),
    )
    weights: str | None = setting(
        None,
        'pretrained weights: a detector ("coco", "coco-v2", "coco-320", a .pth file of torchvision, a run, an '
        'import), or a backbone ("imagenet", a file, a folder); default: random',
        example="coco",
    )
    input: int = setting(320, "side of the square network input, in pixels", low=64, high=4096)
    anchors: str = setting(
        "given", "anchors of the paper, or fitted to the training boxes (`holdfast anchors` shows both)",
        choices=("given", "fitted"),
    )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Train:
    backend: str = setting("tensorflow", "Keras backend", choices=("tensorflow", "jax"))
    steps: int | None = setting(2000, "optimizer steps; or set epochs", low=1)
    epochs: int | None = setting(None, "passes over the data; or set steps", low=1, example=50)
    batch: int = setting(16, "images per optimizer step", low=1, high=65536)
    micro_batch: int | str = setting(
        "auto", 'images per forward pass; "auto": the largest that fits in memory', low=1, choices=("auto",)
    )
    precision: str = setting("float32", "compute precision", choices=("float32", "bfloat16", "float16"))
    rematerialise: bool = setting(
        False, "recompute activations in the backward pass (gradient checkpointing): less memory, slower"
    )
    optimizer: str = setting("adamw", "optimizer", choices=("adamw", "sgd"))
    learning_rate: float = setting(
        1e-3, "peak learning rate, after the warmup", low=0, high=100, low_open=True
    )
    schedule: str = setting("cosine", "learning rate schedule", choices=("cosine", "steps", "constant"))
    seed: int = setting(0, "random seed", low=0, high=2**31 - 1)
    deterministic: bool = setting(False, "bit-identical results on every run; somewhat slower")
    checkpoint_every: int | str = setting(
        200, 'steps, or a time such as "10min"', low=1, pattern=_SPAN, pattern_says=_SPAN_SAYS
    )
    validate_every: int | str = setting(
        500, 'steps, or a time such as "10min"', low=1, pattern=_SPAN, pattern_says=_SPAN_SAYS
    )
    weight_decay: float = setting(
        1e-4, "decoupled weight decay; not on biases and norm scales", low=0, high=1
    )
    clip_norm: float = setting(10.0, "largest global gradient norm; 0 disables clipping", low=0)
    warmup_steps: int | None = setting(
        None,
        "steps of linear learning-rate warmup; default: a tenth of the run, at most 500",
        low=0,
        example=100,
    )
    ema: float = setting(
        0.0, "decay of the EMA of the weights, which is then validated; 0 disables EMA", low=0, high=0.99999
    )
    freeze_steps: int = setting(0, "steps with a frozen backbone", low=0)
    frozen_stages: int | None = setting(
        None, "stages of the backbone, from the first, that never train; default: 0, and torchvision's own number with "
        "its detectors",
        low=0, high=6, example=2,
    )  # fmt: skip
    backbone_rate: float | None = setting(
        None, "learning rate factor of the backbone; default: 0.1 with pretrained weights, else 1",
        low=0, high=10, example=0.1,
    )  # fmt: skip
    keep_checkpoints: int = setting(
        3, "how many of the newest checkpoints to keep; the best is always kept", low=1
    )
    monitor: str = setting("AP", "metric that chooses the best checkpoint", choices=("AP", "AP50", "AP75"))
    early_stopping_patience: int | None = setting(
        None, "validations without improvement before stopping; default: never", low=1, example=5
    )
    early_stopping_min_delta: float = setting(
        0.0, "smallest change of the metric that counts as an improvement", low=0, high=1
    )
    on_nonfinite: str = setting(
        "stop", "after a NaN or infinite loss or gradient, which is never applied",
        choices=("stop", "skip", "rollback"),
    )  # fmt: skip
    nonfinite_limit: int = setting(3, "how many to skip or roll back before stopping", low=1, high=1000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hardware:
    processes: int = setting(
        1,
        "processes that train together, on one host or several; `holdfast launch` starts them",
        low=1,
        high=MAX_PROCESSES,
    )
    least_processes: int | None = setting(
        None,
        "on Ray: continue with fewer processes, but at least so many, when nodes are lost; default: wait for others",
        low=1,
        high=MAX_PROCESSES,
        example=1,
    )
    devices: int = setting(1, "devices per process", low=1, high=64)
    copy_to: str | None = setting(
        None,
        "a bucket folder to copy checkpoints and the model to, and to resume from",
        example="gs://bucket/runs/name",
        pattern=r"[a-z0-9]+://.+",
        pattern_says="a URL such as gs://bucket/runs/name",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    data: Data
    model: Model = field(default_factory=Model)
    train: Train = field(default_factory=Train)
    hardware: Hardware = field(default_factory=Hardware)


#: Table name -> the class of its settings, in the order in which they are written.
TABLES: dict[str, type] = {"data": Data, "model": Model, "train": Train, "hardware": Hardware}

#: Pairs of which a recipe may give one.
EITHER: tuple[tuple[str, str, str], ...] = (
    ("train.steps", "train.epochs", "each defines the length of the training"),
    ("data.validation", "data.validation_fraction", "each defines the validation data"),
)


def is_required(one: Field[Any]) -> bool:
    return one.default is MISSING and one.default_factory is MISSING


def rule_of(one: Field[Any]) -> Rule:
    rule: Rule = one.metadata["rule"]
    return rule


def toml_value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, list):
        return "[" + ", ".join(toml_value(item) for item in value) + "]"
    return repr(value)
