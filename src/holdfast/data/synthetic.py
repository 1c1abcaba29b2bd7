"""A small dataset that is made, not collected: shapes on textured backgrounds, with dirt on request.

It is what `holdfast demo` trains on, and it is real enough to be hard: shapes overlap the border, vary in
size fourfold, and lie on noise of their own colours. The same seed makes the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

CLASSES = ("circle", "square", "triangle")
_COLOURS = ((214, 69, 65), (65, 131, 215), (38, 166, 91), (244, 179, 80), (155, 89, 182))


@dataclass(frozen=True, slots=True)
class Shape:
    name: str
    x1: float
    y1: float
    x2: float
    y2: float


def make_dataset(
    folder: Path, *, count: int, side: int = 224, seed: int = 0, dirt: bool = False
) -> list[str]:
    """Writes `count` images with COCO annotations; returns what dirt was planted, in words."""
    images = folder / "images"
    images.mkdir(parents=True)
    drawn = [
        (f"{number:05d}.jpg", *draw(np.random.default_rng((seed, number)), side)) for number in range(count)
    ]
    for name, image, _ in drawn:
        image.save(images / name, quality=90)
    coco = _annotations([(name, shapes) for name, _, shapes in drawn], side)
    planted = _plant(images, coco) if dirt else []
    (folder / "annotations.json").write_text(json.dumps(coco))
    return planted


def draw(rng: np.random.Generator, side: int) -> tuple[Image.Image, list[Shape]]:
    """One image and the shapes on it; about one image in twelve is empty."""
    image = _background(rng, side)
    canvas = ImageDraw.Draw(image)
    shapes: list[Shape] = []
    wanted = 0 if rng.random() < 1 / 12 else int(rng.integers(1, 5))
    for _ in range(wanted):
        size = float(rng.uniform(0.14, 0.5)) * side
        x1, y1 = (float(value) for value in rng.uniform(-0.05 * side, side - 0.85 * size, 2))
        shape = Shape(str(rng.choice(CLASSES)), x1, y1, x1 + size, y1 + size)
        if all(_overlap(shape, other) < 0.15 for other in shapes):
            _DRAW[shape.name](canvas, shape, _COLOURS[int(rng.integers(len(_COLOURS)))])
            shapes.append(shape)
    return image.filter(ImageFilter.GaussianBlur(0.6)), [_inside(shape, side) for shape in shapes]


def _background(rng: np.random.Generator, side: int) -> Image.Image:
    coarse = rng.integers(40, 215, (9, 9, 3), dtype=np.uint8)
    smooth = np.asarray(
        Image.fromarray(coarse).resize((side, side), Image.Resampling.BICUBIC), dtype=np.int16
    )
    noise = rng.normal(0, 14, (side, side, 1))
    return Image.fromarray(np.clip(smooth + noise, 0, 255).astype(np.uint8))


def _circle(canvas: ImageDraw.ImageDraw, s: Shape, colour: tuple[int, int, int]) -> None:
    canvas.ellipse((s.x1, s.y1, s.x2 - 1, s.y2 - 1), fill=colour, outline=(20, 20, 20), width=2)


def _square(canvas: ImageDraw.ImageDraw, s: Shape, colour: tuple[int, int, int]) -> None:
    canvas.rectangle((s.x1, s.y1, s.x2 - 1, s.y2 - 1), fill=colour, outline=(20, 20, 20), width=2)


def _triangle(canvas: ImageDraw.ImageDraw, s: Shape, colour: tuple[int, int, int]) -> None:
    corners = [((s.x1 + s.x2) / 2, s.y1), (s.x2 - 1, s.y2 - 1), (s.x1, s.y2 - 1)]
    canvas.polygon(corners, fill=colour, outline=(20, 20, 20), width=2)


_DRAW: dict[str, Callable[[ImageDraw.ImageDraw, Shape, tuple[int, int, int]], None]] = {
    "circle": _circle,
    "square": _square,
    "triangle": _triangle,
}


def _overlap(one: Shape, other: Shape) -> float:
    """The share of the smaller shape that the other covers."""
    width = min(one.x2, other.x2) - max(one.x1, other.x1)
    height = min(one.y2, other.y2) - max(one.y1, other.y1)
    smaller = min(one.x2 - one.x1, other.x2 - other.x1) ** 2
    return max(0.0, width) * max(0.0, height) / smaller


def _inside(shape: Shape, side: int) -> Shape:
    return Shape(
        shape.name,
        max(shape.x1, 0.0),
        max(shape.y1, 0.0),
        min(shape.x2, float(side)),
        min(shape.y2, float(side)),
    )


def _annotations(drawn: Iterable[tuple[str, list[Shape]]], side: int) -> dict[str, Any]:
    images: list[dict[str, Any]] = []
    annotations: list[dict[str, Any]] = []
    for number, (name, shapes) in enumerate(drawn, start=1):
        images.append({"id": number, "file_name": name, "width": side, "height": side})
        for s in shapes:
            box = [round(v, 2) for v in (s.x1, s.y1, s.x2 - s.x1, s.y2 - s.y1)]
            annotations.append(
                {"id": len(annotations) + 1, "image_id": number, "category_id": CLASSES.index(s.name) + 1,
                 "bbox": box, "area": round(box[2] * box[3], 2), "iscrowd": 0}
            )  # fmt: skip
    categories = [{"id": number, "name": name} for number, name in enumerate(CLASSES, start=1)]
    return {"images": images, "annotations": annotations, "categories": categories}


def _plant(folder: Path, coco: dict[str, Any]) -> list[str]:
    """Five mistakes that real datasets have."""
    boxes, images = coco["annotations"], coco["images"]
    boxes[3]["bbox"] = [boxes[3]["bbox"][0], boxes[3]["bbox"][1], 0, 0]
    boxes[7]["bbox"][2] *= -1
    cut = folder / images[5]["file_name"]
    whole = cut.read_bytes()
    cut.write_bytes(whole[: len(whole) // 2])
    other = folder / images[9]["file_name"]
    Image.open(other).save(other, format="PNG")
    (folder / images[11]["file_name"]).unlink()
    return [
        "a box without area",
        "a box of negative width",
        f"an image cut off in the middle ({cut.name})",
        f"a PNG that is named .jpg ({other.name})",
        f"an image that is missing ({images[11]['file_name']})",
    ]
