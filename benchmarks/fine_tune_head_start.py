"""Does a detector that was trained on something else learn a small set in fewer steps than an ImageNet backbone?

    python benchmarks/fine_tune_head_start.py --data DIR --weights DIR

DIR is the folder of CONTRIBUTING.md's datasets, and that of MobileNetV2's ImageNet weights. A detector is trained on
generated boards (rectangles of four kinds with chips and pins, on textured ground), and one on BCCD's blood cells;
then SSDLite at 160 pixels learns the microcontroller set from each of them and from the backbone alone, with the same
settings. Prints the validation of each every 20 steps. About ten minutes of two cores.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

COMMON = ("model.input=160", "train.batch=8", "train.checkpoint_every=1000", "train.ema=0.99")
STEPS, PRETRAINING_STEPS, IMAGES = 160, 240, 400
KINDS = (
    (2.6, (30, 70, 120)),
    (1.5, (20, 110, 60)),
    (1.2, (25, 25, 30)),
    (2.0, (130, 30, 40)),
)  # sides, colour


def scene(rng: np.random.Generator, side: int = 320) -> tuple[Image.Image, list[tuple[int, list[int]]]]:
    """One or two boards on a ground of soft spots and stripes."""
    ground = rng.uniform(60, 220, 3) + rng.normal(0, 25, (side // 16, side // 16, 1))
    image = Image.fromarray(np.clip(ground, 0, 255).astype(np.uint8)).resize(
        (side, side), Image.Resampling.BICUBIC
    )
    pen = ImageDraw.Draw(image)
    for start in rng.uniform(-side, side, rng.integers(0, 6)):
        pen.line(
            (start, 0, start + rng.uniform(-80, 80), side), fill=_shade(rng), width=int(rng.integers(1, 8))
        )
    boxes: list[tuple[int, list[int]]] = []
    for _ in range(int(rng.integers(1, 3))):
        kind = int(rng.integers(len(KINDS)))
        board = _board(rng, kind, int(rng.uniform(0.25, 0.6) * side)).rotate(
            float(rng.choice([0, 90, rng.uniform(-25, 25)])), expand=True, resample=Image.Resampling.BILINEAR
        )
        left, top = (int(rng.uniform(0, max(1, side - one))) for one in board.size)
        box = [left, top, min(side, left + board.width), min(side, top + board.height)]
        if all(_apart(box, other) for _, other in boxes):
            image.paste(board, (left, top), board)
            boxes.append((kind, box))
    blurred = image.filter(ImageFilter.GaussianBlur(float(rng.uniform(0, 1.2))))
    noisy = np.asarray(blurred, np.float32) * rng.uniform(0.7, 1.2) + rng.normal(0, 5, (side, side, 3))
    return Image.fromarray(np.clip(noisy, 0, 255).astype(np.uint8)), boxes


def _board(rng: np.random.Generator, kind: int, length: int) -> Image.Image:
    ratio, colour = KINDS[kind]
    width, height = length, max(12, int(length / ratio))
    own = tuple(int(np.clip(one + rng.normal(0, 15), 0, 255)) for one in colour)
    board = Image.new("RGBA", (width, height), (*own, 255))
    pen = ImageDraw.Draw(board)
    for x in range(3, width - 3, max(4, width // 20)):  # pins along both sides
        for y in (2, height - 4):
            pen.rectangle((x, y, x + 1, y + 2), fill=(190, 170, 90, 255))
    for _ in range(int(rng.integers(2, 6))):
        w, h = rng.uniform(0.08, 0.35) * width, rng.uniform(0.15, 0.4) * height
        x, y = rng.uniform(4, max(5, width - w - 4)), rng.uniform(5, max(6, height - h - 5))
        grey = int(rng.choice([25, 60, 170, 210]))
        pen.rectangle((x, y, x + w, y + h), fill=(grey, grey, grey, 255))
    return board


def _shade(rng: np.random.Generator) -> tuple[int, ...]:
    return tuple(int(one) for one in rng.uniform(30, 230, 3))


def _apart(one: list[int], other: list[int]) -> bool:
    return one[0] >= other[2] or other[0] >= one[2] or one[1] >= other[3] or other[1] >= one[3]


def write_scenes(folder: Path) -> Path:
    rng = np.random.default_rng(0)
    folder.mkdir(parents=True)
    content: dict[str, list[dict]] = {"images": [], "annotations": [], "categories": []}
    content["categories"] = [{"id": kind + 1, "name": f"board {kind}"} for kind in range(len(KINDS))]
    for number in range(1, IMAGES + 1):
        image, boxes = scene(rng)
        image.save(folder / f"{number}.jpg", quality=92)
        content["images"].append({"id": number, "file_name": f"{number}.jpg", "width": 320, "height": 320})
        for kind, (x1, y1, x2, y2) in boxes:
            content["annotations"].append({
                "id": len(content["annotations"]) + 1, "image_id": number, "category_id": kind + 1,
                "bbox": [x1, y1, x2 - x1, y2 - y1], "area": (x2 - x1) * (y2 - y1), "iscrowd": 0,
            })  # fmt: skip
    (folder / "annotations.json").write_text(json.dumps(content))
    return folder


def train(data: Path, weights: Path, run: Path, steps: int, every: int) -> list[tuple[int, float]]:
    """(step, AP) of each validation."""
    own = (f"model.weights={weights}", f"train.steps={steps}", f"train.validate_every={every}")
    settings = [word for one in (*COMMON, *own) for word in ("--set", one)]
    command = [sys.executable, "-m", "holdfast", "train", str(data), "--run-dir", str(run), *settings]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with (run / "results.csv").open() as file:
        return [(int(row["step"]), float(row["AP"])) for row in csv.DictReader(file) if row.get("AP")]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--weights", type=Path, required=True, help="MobileNetV2's ImageNet weights")
    args = parser.parse_args()
    small = args.data / "microcontroller"
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        starts = {"ImageNet backbone": args.weights}
        others = {"generated boards": write_scenes(work / "scenes"), "blood cells": args.data / "bccd"}
        for what, data in others.items():
            starts[what] = work / f"detector {what}"
            train(data, args.weights, starts[what], PRETRAINING_STEPS, PRETRAINING_STEPS)
        for what, start in starts.items():
            found = train(small, start, work / f"from {what}", STEPS, 20)
            print(f"{what:<20}" + "  ".join(f"{step}: {ap:.3f}" for step, ap in found), flush=True)


if __name__ == "__main__":
    main()
