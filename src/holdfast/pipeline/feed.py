"""What a stream of batches is made to: size, batch, order, augmentation. Frozen, typed, checked when made."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from holdfast.errors import OutOfRange

ResizeMode = Literal["letterbox", "stretch"]
CacheMode = Literal["auto", "none", "encoded", "decoded"]
GREY = 114  # beside an image
PREFETCHED_BATCHES = 2  # that are ready while a step runs
USED_BATCHES = 2  # by the step that runs, and by the one before, whose result is not fetched yet
VALIDATION_BATCH = 16  # images at once in a validation
MOST_AT_ONCE = 2**31 - 1  # pixels of a batch that the step can number


def batches_ahead(batch: int, threads: int) -> int:
    """How many batches are being filled or ready: enough that every thread has an image to decode."""
    return max(PREFETCHED_BATCHES + 1, -(-2 * threads // batch))


def _within(name: str, value: float, least: float, most: float) -> None:
    if not least <= value <= most:
        raise OutOfRange(
            f"{name} is outside its range", found=f"{name} = {value}", change=f"{least} to {most}"
        )


@dataclass(frozen=True, slots=True)
class Augment:
    """Chances and ranges. The defaults change nothing; `LIGHT` and `STRONG` are sensible sets."""

    flip: float = 0.0  # chance of a horizontal flip
    scale: tuple[float, float] = (1.0, 1.0)  # the image is drawn at this times its fitted size
    crop: float = 0.0  # chance of SSD's IoU-constrained crop
    crop_least: float = 0.3  # the least side of such a crop, as a share of the image's side
    expand: float = 0.0  # chance of being drawn small on a larger canvas (SSD's "zoom out")
    expand_most: float = 4.0
    mosaic: float = 0.0  # chance of four images in one
    mosaic_least: float = 0.5  # the least part of an image's fitting window that a tile shows, by side
    brightness: float = 0.0  # added: up to so much of the full range
    contrast: float = 0.0  # multiplied: within 1 ± this
    saturation: float = 0.0  # multiplied: within 1 ± this
    hue: float = 0.0  # turned by up to so much of the circle

    def __post_init__(self) -> None:
        for name in ("flip", "crop", "expand", "mosaic", "brightness", "contrast", "saturation"):
            _within(name, getattr(self, name), 0.0, 1.0)
        _within("hue", self.hue, 0.0, 0.5)
        _within("crop_least", self.crop_least, 0.05, 1.0)
        _within("mosaic_least", self.mosaic_least, 0.05, 1.0)
        _within("expand_most", self.expand_most, 1.0, 16.0)
        _within("scale", self.scale[0], 0.05, self.scale[1])
        _within("scale", self.scale[1], self.scale[0], 16.0)

    @property
    def zoom_most(self) -> float:
        """The largest enlargement over the plain fitted image: what a packed copy must still serve.

        A mosaic's tile never shows an image larger than 1 / mosaic_least of its fitted size, since a
        tile is no larger than the canvas.
        """
        zoom = max(self.scale[1], 1.0) / (self.crop_least if self.crop else 1.0)
        return max(zoom, 1.0 / self.mosaic_least if self.mosaic else 1.0)

    @property
    def changes_colour(self) -> bool:
        return any((self.brightness, self.contrast, self.saturation, self.hue))


PLAIN = Augment()
LIGHT = Augment(flip=0.5, scale=(0.75, 1.25), brightness=0.1, contrast=0.2, saturation=0.2, hue=0.02)
STRONG = Augment(
    flip=0.5, crop=0.85, expand=0.5, mosaic=0.25, brightness=0.125, contrast=0.5, saturation=0.5, hue=0.05
)


@dataclass(frozen=True, slots=True)
class Feed:
    """All that decides which batches come, in which order, bit for bit."""

    height: int
    width: int
    batch: int  # of this process
    seed: int = 0
    shuffle: bool = True
    endless: bool = True  # False: one epoch, its last batch filled up with images marked not real
    fit: ResizeMode = "letterbox"
    fill: int = GREY
    max_boxes: int | None = None  # None: as many as the fullest image has (four times that with a mosaic)
    augment: Augment = field(default_factory=Augment)
    part: int = 0  # of the processes that share the data, which one
    parts: int = 1
    sent_pixels: int | None = (
        None  # an image is sent as decoded, in so many, and the step resizes it; None: here
    )

    def __post_init__(self) -> None:
        for name in ("height", "width", "batch"):
            _within(name, getattr(self, name), 1, 1 << 16)
        _within("fill", self.fill, 0, 255)
        _within("part", self.part, 0, self.parts - 1)
        if self.max_boxes is not None:
            _within("max_boxes", self.max_boxes, 1, 1 << 20)
        if self.sent_pixels is not None:
            _within("sent_pixels", self.sent_pixels, self.height * self.width, MOST_AT_ONCE // self.batch)

    @property
    def global_batch(self) -> int:
        return self.batch * self.parts

    def as_json(self) -> dict[str, Any]:
        return asdict(self)
