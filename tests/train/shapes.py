"""Pictures of coloured shapes on a grey ground, as a COCO folder: easy to learn, made in a moment.

`python -m tests.train.shapes FOLDER [COUNT]` writes them to look at.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

CLASSES = ("disc", "square", "triangle")
#: The head of a recipe of a real detector that is as small as it may be; settings of [train] follow it.
RECIPE = """
[data]
train = {data}
validation_fraction = 0.2
[model]
detector = "{detector}"
backbone = "mobilenet_v2"
input = 64
[train]
"""
COLOURS = ((200, 60, 50), (60, 110, 200), (230, 190, 60))


def write(folder: Path, count: int = 24, *, side: int = 96, seed: int = 0) -> Path:
    """A folder with images and `annotations.json`."""
    rng = np.random.default_rng(seed)
    (folder / "images").mkdir(parents=True, exist_ok=True)
    images, annotations = [], []
    for number in range(1, count + 1):
        name = f"images/{number:04d}.png"
        image, boxes = draw(rng, side)
        image.save(folder / name)
        images.append({"id": number, "file_name": name, "width": side, "height": side})
        for kind, (x, y, size) in boxes:
            annotations.append(
                {"id": len(annotations) + 1, "image_id": number, "category_id": kind + 1, "iscrowd": 0,
                 "bbox": [x, y, size, size], "area": size * size}
            )  # fmt: skip
    categories = [{"id": kind + 1, "name": name} for kind, name in enumerate(CLASSES)]
    content = {"images": images, "annotations": annotations, "categories": categories}
    (folder / "annotations.json").write_text(json.dumps(content))
    return folder


def draw(rng: np.random.Generator, side: int) -> tuple[Image.Image, list[tuple[int, tuple[int, int, int]]]]:
    ground = rng.integers(90, 150, (side, side, 1)) + rng.integers(-12, 13, (side, side, 3))
    image = Image.fromarray(ground.clip(0, 255).astype(np.uint8))
    pen = ImageDraw.Draw(image)
    boxes = []
    for _ in range(int(rng.integers(1, 4))):
        kind, size = int(rng.integers(3)), int(rng.integers(side // 4, side // 2))
        x, y = (int(rng.integers(0, side - size)) for _ in range(2))
        if any(abs(x - a) < (size + s) / 2 and abs(y - b) < (size + s) / 2 for _, (a, b, s) in boxes):
            continue
        corners = (x, y, x + size - 1, y + size - 1)
        if kind == 0:
            pen.ellipse(corners, fill=COLOURS[0])
        elif kind == 1:
            pen.rectangle(corners, fill=COLOURS[1])
        else:
            pen.polygon(
                [(x, y + size - 1), (x + size - 1, y + size - 1), (x + size // 2, y)], fill=COLOURS[2]
            )
        boxes.append((kind, (x, y, size)))
    return image, boxes


if __name__ == "__main__":
    write(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 24)
