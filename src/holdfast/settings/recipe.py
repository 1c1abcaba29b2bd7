"""Every setting there is: its type, its default, what is allowed, and a line for a person.

The names are a contract. A setting is a dataclass field made by `setting`; `read` checks it and
`write` prints it, so nothing about a setting stands anywhere else.
"""

from __future__ import annotations

import json
from dataclasses import MISSING, Field, dataclass, field
from typing import Any, NamedTuple


class Rule(NamedTuple):
    """What a setting allows, beyond its type."""

    doc: str
    choices: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    low_open: bool = False  # the lowest value itself is not allowed
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
        "a folder or file in any format (COCO, VOC, YOLO, CSV, labelme, TFRecord), a TFRecord glob, or gs://…",
        example="data/train",
    )
    validation: str | None = setting(
        None, "the same for validation; or give validation_fraction", example="data/val"
    )
    validation_fraction: float | None = setting(
        None,
        "hold out this part of train, the same pictures every time",
        low=0,
        high=0.9,
        low_open=True,
        example=0.2,
    )
    classes: list[str] | None = setting(
        None, "names in order; taken from the data when left out", example=["a", "b"]
    )
    augment: str = setting(
        "light", "how pictures are varied: flipped, scaled, recoloured; strong also crops and mixes",
        choices=("none", "light", "strong"),
    )  # fmt: skip
    resize: str = setting(
        "auto", "where training pictures are resized: by the processor or in the step; auto: in the step on a GPU",
        choices=("auto", "host", "device"),
    )  # fmt: skip
    skip_bad: int = setting(
        0,
        "pictures that cannot be decoded: so many are named and replaced by another, one more ends the run",
        low=0,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    detector: str = setting("ssd", "which detector", choices=("ssd", "retinanet", "faster-rcnn"))
    backbone: str = setting(
        "mobilenet_v2",
        "what extracts the features",
        choices=("mobilenet_v2", "resnet50", "resnext50", "vgg16"),
    )
    weights: str | None = setting(
        None,
        'the backbone\'s (a file, a folder, "imagenet"), or a run; fresh when left out',
        example="imagenet",
    )
    input: int = setting(320, "side of the square that the network sees, in pixels", low=64, high=4096)
    anchors: str = setting(
        "given", "the detector's own, or fitted to the training set's boxes (`holdfast anchors` shows both)",
        choices=("given", "fitted"),
    )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Train:
    backend: str = setting("tensorflow", "which engine computes", choices=("tensorflow", "jax"))
    steps: int | None = setting(2000, "optimizer updates; or give epochs", low=1)
    epochs: int | None = setting(None, "passes over the data; or give steps", low=1, example=50)
    batch: int = setting(16, "pictures an update", low=1, high=65536)
    micro_batch: int | str = setting(
        "auto", 'pictures at once; "auto" takes the largest that fits', low=1, choices=("auto",)
    )
    precision: str = setting("float32", "of the computation", choices=("float32", "bfloat16", "float16"))
    rematerialise: bool = setting(
        False, "compute blocks again for the backward pass instead of keeping them: less memory, slower"
    )
    optimizer: str = setting("adamw", "which optimizer", choices=("adamw", "sgd"))
    learning_rate: float = setting(1e-3, "at its highest, after the warm-up", low=0, high=100, low_open=True)
    schedule: str = setting("cosine", "how the rate falls", choices=("cosine", "steps", "constant"))
    seed: int = setting(0, "of everything that is random", low=0, high=2**31 - 1)
    deterministic: bool = setting(False, "the same bits every time, somewhat slower")
    checkpoint_every: int | str = setting(
        200, "steps, or a time", low=1, pattern=_SPAN, pattern_says=_SPAN_SAYS
    )
    validate_every: int | str = setting(
        500, "steps, or a time", low=1, pattern=_SPAN, pattern_says=_SPAN_SAYS
    )
    weight_decay: float = setting(1e-4, "decoupled; biases and scales of norms are left alone", low=0, high=1)
    clip_norm: float = setting(10.0, "largest norm of all gradients together; 0 does not clip", low=0)
    warmup_steps: int | None = setting(
        None,
        "steps in which the rate rises; a tenth of the run, at most 500, when left out",
        low=0,
        example=100,
    )
    ema: float = setting(
        0.0, "decay of an average of the weights, which is then validated; 0 has none", low=0, high=0.99999
    )
    freeze_steps: int = setting(0, "steps in which the backbone stays as it is", low=0)
    backbone_rate: float | None = setting(
        None, "times the learning rate, for the backbone; when left out 0.1 for given weights, 1 for fresh ones",
        low=0, high=10, example=0.1,
    )  # fmt: skip
    keep_checkpoints: int = setting(3, "the newest so many, and the best", low=1)
    monitor: str = setting("AP", "what says which checkpoint is best", choices=("AP", "AP50", "AP75"))
    early_stopping_patience: int | None = setting(
        None, "validations without a gain before stopping; never when left out", low=1, example=5
    )
    early_stopping_min_delta: float = setting(0.0, "the least that counts as a gain", low=0, high=1)
    on_nonfinite: str = setting(
        "stop", "after a loss or gradient that is not finite, which is never applied",
        choices=("stop", "skip", "rollback"),
    )  # fmt: skip
    nonfinite_limit: int = setting(3, "so many are skipped or rolled back before stopping", low=1, high=1000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hardware:
    processes: int = setting(
        1, "that train together, on one host or several; `holdfast launch` starts them", low=1, high=4096
    )
    devices: int = setting(1, "that each process computes on", low=1, high=64)
    data_service: list[str] | None = setting(
        None,
        "machines that decode and augment the training pictures: each runs `holdfast data serve`",
        example=["host:5050"],
    )
    copy_to: str | None = setting(
        None,
        "a folder in a bucket that checkpoints and the model are copied to, and resumed from",
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
    ("train.steps", "train.epochs", "both say when training ends"),
    ("data.validation", "data.validation_fraction", "both say what to validate on"),
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
