"""Images with bright things on a rough ground, and their boxes, as the rules about pixels look at them."""

from __future__ import annotations

import numpy as np

from holdfast.data.pixels.look_sample import CloseLook

COLOURS = {"red": (210, 40, 40), "green": (40, 190, 60), "sand": (220, 190, 120)}


def look(
    seed: int, name: str = "", split: str | None = None, size: tuple[int, int] = (160, 120), things: int = 3
) -> CloseLook:
    rng = np.random.default_rng(seed)
    width, height = size
    coarse = rng.normal(0, 25, (6, 8, 3))
    ground = 110 + np.kron(coarse, np.ones((height // 6, width // 8, 1)))[:height, :width]
    pixels = np.clip(ground + rng.normal(0, 6, (height, width, 3)), 0, 255)
    boxes, names = [], []
    for _ in range(things):
        w, h = (int(side) for side in rng.integers(18, 40, 2))
        x, y = int(rng.integers(2, width - w - 2)), int(rng.integers(2, height - h - 2))
        kind = sorted(COLOURS)[int(rng.integers(3))]
        pixels[y : y + h, x : x + w] = np.array(COLOURS[kind]) + rng.normal(0, 4, (h, w, 3))
        pixels[y + h // 3 : y + h // 2, x + w // 4 : x + w // 2] = 20
        boxes.append((x, y, x + w, y + h))
        names.append(kind)
    shown = np.clip(pixels, 0, 255).astype(np.uint8)
    return CloseLook(name or f"d/{seed:03d}.jpg", split, shown, np.array(boxes, float), tuple(names))
