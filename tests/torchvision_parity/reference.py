"""What is stored of torchvision's answers: some raw outputs, how many detections, and the best ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np

REFERENCE = Path(__file__).parent / "reference.json"
SIDES = {
    "ssdlite320_mobilenet_v3_large": 320, "ssd300_vgg16": 300, "retinanet_resnet50_fpn": 128,
    "retinanet_resnet50_fpn_v2": 128, "fasterrcnn_resnet50_fpn": 128, "fasterrcnn_resnet50_fpn_v2": 128,
    "fasterrcnn_mobilenet_v3_large_fpn": 320,
}  # fmt: skip


def image_of(side: int) -> np.ndarray:
    """Waves of several lengths and a few bright rectangles, (side, side, 3) uint8."""
    rng = np.random.default_rng(7)
    y, x = np.mgrid[:side, :side] / side
    waves = [np.sin(2 * np.pi * (a * x + b * y + c)) for a, b, c in rng.uniform(0, 9, (6, 3))]
    image = np.stack([128 + 30 * (waves[i] + waves[i + 3]) for i in range(3)], axis=-1)
    for left, top, wide, high in (rng.uniform(0.1, 0.6, (5, 4)) * side).astype(int):
        image[top : top + high // 2, left : left + wide // 2] += rng.uniform(-90, 90, 3)
    return np.clip(np.round(image), 0, 255).astype(np.uint8)


def picked(values: np.ndarray) -> np.ndarray:
    """Forty numbers from all over."""
    flat = values.reshape(-1)
    return flat[:: len(flat) // 40][:40]
