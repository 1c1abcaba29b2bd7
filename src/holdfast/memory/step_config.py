"""Everything that decides the memory of a step, and nothing else."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class StepConfig:
    """`boxes` is the number of rows that the boxes of every image are padded to: the maximum in an image."""

    detector: str
    backbone: str
    input: int
    classes: int
    boxes: int
    batch: int
    micro_batch: int
    precision: str = "float32"
    optimizer: str = "adamw"
    ema: bool = False
    normalization: str = "frozen-batch"
    rematerialise: bool = False
    changes_colour: bool = True
    backend: str = "jax"
    sent_pixels: int = 0  # of an image, when the step resizes it
    variant: str = ""  # whose arithmetic, as in a detector's spec

    def with_micro_batch(self, micro_batch: int) -> StepConfig:
        """The same with one micro-batch per step, as the search for a micro-batch compiles it."""
        return replace(self, batch=micro_batch, micro_batch=micro_batch)

    @property
    def model(self) -> StepConfig:
        """What needs a model of its own: everything but the batch."""
        return replace(self, batch=0, micro_batch=0)

    @property
    def image_pixels(self) -> int:
        """Of one image in a batch."""
        return self.sent_pixels or self.input**2

    @property
    def accumulations(self) -> int:
        return self.batch // self.micro_batch

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    def label(self) -> str:
        options = [self.precision, self.optimizer]
        options += ["remat"] if self.rematerialise else []
        options += [f"sent {self.sent_pixels / 1e6:.1f} MP"] if self.sent_pixels else []
        many = f"b{self.batch}" + (f"/{self.micro_batch}" if self.micro_batch != self.batch else "")
        return f"{self.detector} {self.backbone} {self.input} {many} {' '.join(options)}"


def from_json(content: Mapping[str, Any]) -> StepConfig:
    known = {field.name for field in fields(StepConfig)}
    return StepConfig(**{name: value for name, value in content.items() if name in known})


def fingerprint(content: Mapping[str, Any]) -> str:
    """The first 16 hex digits of the content's SHA-256."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]
