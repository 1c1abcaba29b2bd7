"""Settings over which the plan of a stream was recorded, and the dataset behind them: no images, only columns."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from holdfast.pipeline import batch_plan, image_sizes
from holdfast.pipeline.dataset_columns import Columns
from holdfast.pipeline.feed import LIGHT, PLAIN, STRONG, Augment, Feed

EVERYTHING = Augment(
    flip=0.5, scale=(0.6, 1.6), crop=0.8, expand=0.5, mosaic=0.5, brightness=0.1, contrast=0.3, saturation=0.3, hue=0.1
)  # fmt: skip
IMAGES = 53
STEPS = 6


@dataclass(frozen=True)
class Setting:
    """One way to make batches; `first_step` is where the recorded steps begin."""

    feed: Feed
    first_step: int = 0
    kept_decoded: bool = False
    bad: tuple[int, ...] = ()
    packed_from: int | None = None
    boxes: bool = True
    extra: dict[str, Any] = field(default_factory=dict)


def _feed(height: int = 96, width: int = 128, batch: int = 8, **others: Any) -> Feed:
    return Feed(height=height, width=width, batch=batch, **others)


SETTINGS: dict[str, Setting] = {
    "plain": Setting(_feed(seed=1)),
    "plain, stretched": Setting(_feed(seed=1, fit="stretch")),
    "light": Setting(_feed(seed=2, augment=LIGHT)),
    "light, stretched": Setting(_feed(seed=2, augment=LIGHT, fit="stretch")),
    "strong": Setting(_feed(seed=3, augment=STRONG)),
    "strong, stretched": Setting(_feed(seed=3, augment=STRONG, fit="stretch")),
    "everything": Setting(_feed(seed=4, augment=EVERYTHING), first_step=4),
    "everything, large seed": Setting(_feed(seed=2**63 + 11, augment=EVERYTHING), first_step=10**7),
    "flip alone": Setting(_feed(seed=5, augment=Augment(flip=0.5))),
    "crop alone": Setting(_feed(seed=6, augment=Augment(crop=1.0))),
    "crop alone, stretched": Setting(_feed(seed=6, augment=Augment(crop=1.0), fit="stretch")),
    "expand alone": Setting(_feed(seed=7, augment=Augment(expand=1.0))),
    "mosaic alone": Setting(_feed(seed=8, augment=Augment(mosaic=1.0))),
    "scale alone": Setting(_feed(seed=9, augment=Augment(scale=(0.3, 3.0)))),
    "second half of a batch": Setting(_feed(seed=10, augment=LIGHT, batch=4, part=1, parts=2), first_step=5),
    "one epoch in order": Setting(_feed(seed=11, shuffle=False, endless=False), first_step=1),
    "few boxes": Setting(_feed(seed=12, augment=STRONG, max_boxes=3)),
    "no boxes": Setting(_feed(seed=13, augment=EVERYTHING), boxes=False),
    "kept decoded": Setting(_feed(seed=14, augment=LIGHT), kept_decoded=True),
    "bad images": Setting(_feed(seed=15, augment=EVERYTHING), bad=(0, 7, 8, 52)),
    "packed from the second epoch": Setting(_feed(seed=16, augment=LIGHT), first_step=3, packed_from=1),
    "resized by the step": Setting(_feed(seed=17, augment=LIGHT, sent_pixels=4 * 96 * 128)),
    "mosaics, resized by the step": Setting(_feed(seed=18, augment=EVERYTHING, sent_pixels=2 * 96 * 128)),
    "large input": Setting(_feed(seed=19, height=640, width=640, augment=STRONG)),
    "one image": Setting(_feed(seed=20, batch=1, augment=EVERYTHING), first_step=99),
}


def columns(*, boxes: bool = True) -> Columns:
    """53 images from 5 to 5000 pixels wide, all orientations, three kinds of files, up to nine boxes, some crowds."""
    rng = np.random.default_rng(2026)
    sizes = np.rint(np.exp(rng.uniform(np.log(5), np.log(5000), (IMAGES, 2)))).astype(np.int32)
    orientations = rng.integers(1, 9, IMAGES).astype(np.int32)
    upright = np.where(orientations[:, None] >= 5, sizes[:, ::-1], sizes)
    counts = rng.integers(0, 10, IMAGES) if boxes else np.zeros(IMAGES, np.int64)
    of = np.repeat(np.arange(IMAGES), counts)
    corners = np.sort(rng.uniform(0, 1, (len(of), 2, 2)), axis=1) * upright[of][:, None, :]
    return Columns(
        ids=[str(number) for number in range(IMAGES)], paths=[f"{number}.jpg" for number in range(IMAGES)],
        offsets=np.full(IMAGES, -1, np.int64), lengths=np.full(IMAGES, 9, np.int64),
        file_bytes=np.full(IMAGES, 9, np.int64), stored_sizes=sizes, orientations=orientations,
        codecs=rng.choice([0, 0, 0, 1, 2], IMAGES).astype(np.int32),
        boxes=corners.reshape(-1, 4).astype(np.float32), labels=rng.integers(0, 4, len(of)).astype(np.int32),
        crowds=rng.uniform(size=len(of)) < 0.1, difficult=np.zeros(len(of), bool), areas=np.zeros(len(of)),
        first=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), classes=("a", "b", "c", "d"),
    )  # fmt: skip


def _packed(data: Columns) -> Columns:
    """Twice the rows, as `pack.with_packed` has them, every other image at a third of its size."""
    rows = np.arange(0, IMAGES, 2)
    sizes, orientations, codecs = data.stored_sizes.copy(), data.orientations.copy(), data.codecs.copy()
    scale = np.ones((IMAGES, 4), np.float32)
    small = np.maximum(1, data.sizes[rows] // 3).astype(np.int32)
    scale[rows] = np.tile(small / data.sizes[rows], 2)
    sizes[rows], orientations[rows], codecs[rows] = small, 1, 0
    twice = {name: np.tile(getattr(data, name), 2) for name in ("labels", "crowds", "difficult", "areas")}
    others = {name: np.tile(getattr(data, name), 2) for name in ("offsets", "lengths", "file_bytes")}
    return Columns(
        ids=data.ids * 2, paths=data.paths * 2, classes=data.classes,
        stored_sizes=np.concatenate([data.stored_sizes, sizes]),
        orientations=np.concatenate([data.orientations, orientations]),
        codecs=np.concatenate([data.codecs, codecs]),
        boxes=np.concatenate([data.boxes, data.boxes * np.repeat(scale, np.diff(data.first), axis=0)]),
        first=np.concatenate([data.first, data.first[1:] + data.first[-1]]), **twice, **others,
    )  # fmt: skip


def plan_of(setting: Setting) -> dict[str, np.ndarray]:
    """Everything that is decided about the setting's steps."""
    data = columns(boxes=setting.boxes)
    fixed = image_sizes.whole_image_ratios(data, setting.feed) if setting.kept_decoded else None
    substitutes = np.arange(IMAGES, dtype=np.int64)
    for image in setting.bad:
        substitutes[image] = next(
            other for step in range(1, IMAGES) if (other := (image + step) % IMAGES) not in setting.bad
        )
    table = batch_plan.build_tables(
        data if setting.packed_from is None else _packed(data),
        IMAGES,
        substitutes,
        fixed,
        setting.packed_from,
    )
    planned = batch_plan.instructions(np.int64(setting.first_step), setting.feed, table, STEPS)
    return {name: np.asarray(value) for name, value in planned.items()}


def digests(planned: dict[str, np.ndarray]) -> dict[str, str]:
    """The bits of each part, its type and its shape. Minus zero is zero."""
    found = {}
    for name, value in sorted(planned.items()):
        plain = np.ascontiguousarray(value + 0 if value.dtype.kind == "f" else value)
        head = f"{plain.dtype.str}{plain.shape}".encode()
        found[name] = hashlib.sha256(head + plain.tobytes()).hexdigest()[:16]
    return found


assert Augment() == PLAIN
