"""How long `holdfast check` takes over 100,000 generated annotations, and the memory it needs.

    python benchmarks/check_speed.py

10,000 images of 320x240 with 10 boxes each, as COCO, VOC and TFRecord; a first run, which decodes every image,
and a second, which finds them in the cache. The peak of memory is that of the main process and of all workers
together (proportional set size, sampled), because they share what was read before they were forked.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil


def made(folder: Path, count: int, boxes: int) -> None:
    """A COCO dataset whose images all differ."""
    import io

    import numpy as np
    from PIL import Image

    rng = np.random.default_rng(0)
    smooth = rng.integers(0, 256, (12, 16, 3), np.uint8)
    out = io.BytesIO()
    Image.fromarray(smooth).resize((320, 240)).save(out, "JPEG", quality=85)
    (folder / "images").mkdir(parents=True)
    images, annotations = [], []
    for number in range(1, count + 1):
        name = f"{number:06d}.jpg"
        comment = b"\xff\xfe\x00\x0a" + f"{number:08d}".encode()  # a comment segment makes the bytes unique
        data = out.getvalue()
        (folder / "images" / name).write_bytes(data[:2] + comment + data[2:])
        images.append({"id": number, "file_name": name, "width": 320, "height": 240})
        for x, y in rng.integers(0, 160, (boxes, 2)).tolist():
            annotations.append({"id": len(annotations) + 1, "image_id": number, "category_id": 1 + x % 5,
                                "bbox": [x, y, 40 + y % 37, 30 + x % 41], "area": 1200, "iscrowd": 0})  # fmt: skip
    categories = [{"id": number, "name": f"class {number}"} for number in range(1, 6)]
    document = {"images": images, "annotations": annotations, "categories": categories}
    (folder / "instances.json").write_text(json.dumps(document))


def timed(path: Path) -> tuple[float, float, dict[str, object]]:
    """Seconds, peak MiB of the process and its workers, and what it printed."""
    command = [sys.executable, "-m", "holdfast", "check", str(path), "--json"]
    started = time.perf_counter()
    child = psutil.Popen(command, stdout=subprocess.PIPE)
    peak = 0
    while child.poll() is None:
        peak = max(peak, _memory(child))
        time.sleep(0.05)
    seconds = time.perf_counter() - started
    return seconds, peak / 2**20, json.loads(child.stdout.read())


def _memory(child: psutil.Popen) -> int:
    total = 0
    try:
        for process in (child, *child.children(recursive=True)):
            total += process.memory_full_info().pss
    except psutil.Error:
        pass
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--images", type=int, default=10_000)
    parser.add_argument("--boxes", type=int, default=10, help="in each image")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = f"{folder}/cache"
        made(Path(folder) / "coco", args.images, args.boxes)
        for to in ("voc", "tfrecord"):
            command = [
                sys.executable,
                "-m",
                "holdfast",
                "data",
                "convert",
                f"{folder}/coco",
                f"{folder}/{to}",
                "--to",
                to,
            ]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        print(f"{args.images} images, {args.images * args.boxes} boxes, {os.cpu_count()} cores")
        print(f"{'format':<10}{'first s':>9}{'again s':>9}{'MiB':>7}  boxes/s")
        for format in ("coco", "voc", "tfrecord"):
            first, memory, report = timed(Path(folder) / format)
            again, memory_again, second = timed(Path(folder) / format)
            assert report == second and report["boxes"] == args.images * args.boxes, report
            rate = args.images * args.boxes / first
            print(f"{format:<10}{first:>9.1f}{again:>9.1f}{max(memory, memory_again):>7.0f}  {rate:,.0f}")


if __name__ == "__main__":
    main()
