"""CPU time of data jobs for each image, and what ten million images cost by it.

`python benchmarks/data_jobs.py [--images 600]`: images of 640 x 480, made here, with about the bytes of COCO's; one
worker. CPU time is counted, of the command and its worker, so that other load on the machine changes little. The cost
of the start, measured with a tenth of the images, is taken off. The rows for ten million are arithmetic.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image, ImageFilter

TEN_MILLION = 10_000_000


def make(folder: Path, count: int, *, drawn: int | None = None) -> int:
    """A COCO folder; returns the bytes of an image. After `drawn` images, copies that differ in a comment."""
    (folder / "images").mkdir(parents=True)
    images, annotations, size = [], [], 0
    for number in range(1, count + 1):
        rng = np.random.default_rng(number)
        path = folder / "images" / f"{number:06d}.jpg"
        if drawn is None or number <= drawn:
            draw(rng, path)
        else:
            copy_with_comment(folder / "images" / f"{1 + number % drawn:06d}.jpg", path, number)
        size += path.stat().st_size
        images.append({"id": number, "file_name": f"images/{path.name}", "width": 640, "height": 480})
        for x, y in rng.integers(0, 400, (7, 2)).tolist():  # COCO has seven in an image
            annotations.append({"id": len(annotations) + 1, "image_id": number, "category_id": 1 + x % 5,
                                "bbox": [x, y % 300, 60, 50], "area": 3000, "iscrowd": 0})  # fmt: skip
    categories = [{"id": number, "name": f"class {number}"} for number in range(1, 6)]
    document = {"images": images, "annotations": annotations, "categories": categories}
    (folder / "annotations.json").write_text(json.dumps(document))
    return size // count


def draw(rng: np.random.Generator, path: Path) -> None:
    noise = Image.fromarray(rng.integers(0, 256, (480, 640, 3), np.uint8))
    noise.filter(ImageFilter.GaussianBlur(0.9)).save(path, quality=92)


def copy_with_comment(source: Path, path: Path, number: int) -> None:
    comment, content = f"{number:08d}".encode(), source.read_bytes()
    path.write_bytes(content[:2] + b"\xff\xfe\x00\x0a" + comment + content[2:])


def cpu_s(folder: Path, *words: str) -> float:
    environment = os.environ | {"XDG_CACHE_HOME": str(folder / "cache"), "JAX_PLATFORMS": "cpu"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "holdfast", *words, "--workers", "1"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(done.stderr)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--images", type=int, default=600)
    count = parser.parse_args().images
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        size = make(folder / "all", count)
        make(folder / "few", count // 10)
        print(f"{count} images of 640 x 480, {size / 1000:.0f} kB each\n")
        print("| job | CPU of an image | 10 million on one core | on 64 cores |\n|---|---|---|---|")
        for job, words in (
            ("`check`", lambda data: ("check", data, "--no-cache", "--json")),
            (
                "`data pack` to 224 px",
                lambda data: ("data", "pack", data, "--size", "224", "--cache", f"packs-{data}"),
            ),
            (
                "`data convert` to TFRecord",
                lambda data: ("data", "convert", data, f"records-{data}", "--to", "tfrecord"),
            ),
        ):
            each_s = (cpu_s(folder, *words("all")) - cpu_s(folder, *words("few"))) / (count - count // 10)
            hours = each_s * TEN_MILLION / 3600
            print(
                f"| {job} | {each_s * 1000:.1f} ms | {hours:.1f} h | {hours / 64 * 60:.0f} min |", flush=True
            )


if __name__ == "__main__":
    main()
