"""What resizing on the device costs on a GPU: the resize alone, beside bringing the batch there.

    python benchmarks/h200_resize.py

Needs a GPU and JAX. A training step with and without it:

    python benchmarks/h200.py --ours retinanet:host retinanet:device \\
        --changes '{"retinanet:device": {"sent": [816, 612]}}'
"""

from __future__ import annotations

import json
import os
import statistics
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("KERAS_BACKEND", "jax")

import h200_ours
import jax
import numpy as np

from holdfast.pipeline import device_transforms

IMAGE = 816, 612
SIZES = ((512, 16), (640, 16), (640, 64))  # side of the image, batch


def median_ms(work: Callable[[], Any], times: int = 30) -> float:
    """Of one call, waited for, after two that are not timed."""
    taken = []
    for number in range(times + 2):
        began = time.perf_counter()
        jax.block_until_ready(work())
        if number >= 2:
            taken.append(1e3 * (time.perf_counter() - began))
    return statistics.median(taken)


def row(side: int, batch: int) -> dict[str, Any]:
    random = np.random.default_rng(0)
    sent = h200_ours.sent_of(IMAGE, batch, side, random)
    images = random.integers(0, 256, (batch, side, side, 3), dtype=np.uint8)
    pixels, view = jax.device_put((sent["pixels"], sent["view"]))
    resize = jax.jit(lambda pixels, view: device_transforms.resized(pixels, view, side, side))
    many = 20
    back_to_back = median_ms(lambda: [resize(pixels, view) for _ in range(many)], 10) / many
    temporary = resize.lower(pixels, view).compile().memory_analysis().temp_size_in_bytes
    return {
        "side": side, "batch": batch, "sent_mib": sent["pixels"].nbytes / 2**20, "images_mib": images.nbytes / 2**20,
        "resize_ms": back_to_back, "resize_alone_ms": median_ms(lambda: resize(pixels, view)),
        "temporary_mib": temporary / 2**20, "bring_sent_ms": median_ms(lambda: jax.device_put(sent["pixels"])),
        "bring_images_ms": median_ms(lambda: jax.device_put(images)),
    }  # fmt: skip


if __name__ == "__main__":
    print(jax.devices()[0].device_kind)
    for side, batch in SIZES:
        print(json.dumps({name: round(value, 3) for name, value in row(side, batch).items()}), flush=True)
