"""Scaling on paper: the table of docs/scale.md, computed from measured numbers of one device."""

from __future__ import annotations

import math

IMAGES_S = 2082.0  # SSD300 on VGG16, one H200, batch 128, images on the device: measured
BATCH = 128  # of each device
WEIGHTS = 34_305_206  # of that detector with 80 classes: counted
JPEG_BYTES = 19.3e9 / 118_287  # of an image of COCO 2017, about 640 x 480
DECODED_S_CORE = (
    320.0  # images a core: 640 a second on two quiet cores, decoded, resized and batched: measured
)
NVLINK_GB_S, NETWORK_GB_S = (
    450.0,
    50.0,
)  # of one GPU in one direction; NVIDIA's figures for H200 and 400 Gbit/s
GPU_HOURS_A_FAILURE = (
    16384 * 54 * 24 / 419
)  # Llama 3 (2024): 419 unexpected interruptions of 16,384 GPUs in 54 days
SAVE_S, RESTART_S = 1.0, 90.0  # that a save holds up the steps, at most; until all train again: assumed


def main() -> None:
    gradient = 4 * WEIGHTS
    step_s = BATCH / IMAGES_S
    print(f"gradient {gradient / 1e6:.0f} MB; a step {step_s * 1000:.1f} ms alone")
    print(
        f"checkpoint {3 * gradient / 1e6:.0f} MB, with an average of the weights {4 * gradient / 1e6:.0f} MB"
    )
    heads = (
        "devices",
        "all-reduce",
        "step",
        "efficiency",
        "images/s",
        "JPEG MB/s",
        "cores",
        "a failure every",
    )
    print(f"| {' | '.join((*heads, 'save every', 'lost'))} |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for devices in (1, 8, 64, 512):
        print(row(devices, gradient, step_s))


def row(devices: int, gradient: float, step_s: float) -> str:
    rate = NVLINK_GB_S if devices <= 8 else NETWORK_GB_S
    reduce_s = 2 * (devices - 1) / devices * gradient / (rate * 1e9)  # a ring
    whole_s = step_s + reduce_s
    images = devices * BATCH / whole_s
    between_h = GPU_HOURS_A_FAILURE / devices
    every_s = math.sqrt(2 * SAVE_S * between_h * 3600)  # Young 1974
    lost = SAVE_S / every_s + (every_s / 2 + RESTART_S) / (between_h * 3600)
    cells = [
        f"{devices}", f"{reduce_s * 1000:.2f} ms", f"{whole_s * 1000:.1f} ms", f"{step_s / whole_s:.1%}",
        f"{images:,.0f}", f"{images * JPEG_BYTES / 1e6:,.0f}", f"{images / DECODED_S_CORE:,.0f}",
        f"{between_h:,.0f} h", f"{every_s / 60:.0f} min", f"{lost:.2%}",
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
