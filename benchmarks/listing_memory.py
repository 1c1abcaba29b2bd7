"""What a data job keeps in memory for each image of the listing: `python benchmarks/listing_memory.py`.

Images of 160 x 120 with seven boxes each, made here; peaks of private memory (RssAnon) of the command and of its
largest worker. With `--ray inside` or `outside` on two Ray nodes of this machine, else with two processes, which with
`--spawn` are started anew, as beside a thread.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.ray_cluster.__main__ import cluster
from tests.ray_cluster.memory import Peak

CLASSES = [f"class {number}" for number in range(1, 6)]
JOBS = {
    "`check`": ("check", "DATA", "--json", "--no-speed", "--no-cache"),
    "`data convert` to TFRecord": ("data", "convert", "DATA", "OUT", "--to", "tfrecord"),
    "`data convert` to COCO": ("data", "convert", "DATA", "OUT", "--to", "coco"),
    "`data pack` to 64 px": ("data", "pack", "DATA", "--size", "64", "--cache", "OUT"),
    "`data repair`": ("data", "repair", "DATA", "OUT"),
}


def make(folder: Path, count: int, format: str) -> None:
    """Copies of one image, each with a comment of its own, in folders of a thousand."""
    target = BytesIO()
    ramp = np.linspace(0, 255, 160 * 120 * 3).reshape(120, 160, 3).astype(np.uint8)
    Image.fromarray(ramp).save(target, "JPEG", quality=60)
    data = target.getvalue()
    names = [f"{number // 1000:05d}/{number:08d}" for number in range(count)]
    for number, name in enumerate(names):
        path = folder / "images" / f"{name}.jpg"
        if number % 1000 == 0:
            path.parent.mkdir(parents=True)
        path.write_bytes(data[:2] + b"\xff\xfe\x00\x0a" + f"{number:08d}".encode() + data[2:])
    WRITERS[format](folder, names)


def coco(folder: Path, names: list[str]) -> None:
    with (folder / "annotations.json").open("w") as file:
        categories = [{"id": number, "name": name} for number, name in enumerate(CLASSES, 1)]
        file.write(f'{{"categories": {json.dumps(categories)}, "images": [')
        for number, name in enumerate(names):
            one = {"id": number, "file_name": f"{name}.jpg", "width": 160, "height": 120}
            file.write(("," if number else "") + json.dumps(one))
        file.write('], "annotations": [')
        for number in range(7 * len(names)):
            box = {"id": number, "image_id": number % len(names), "category_id": 1 + number % 5,
                   "bbox": [number % 31, number % 23, 20, 20], "area": 400, "iscrowd": 0}  # fmt: skip
            file.write(("," if number else "") + json.dumps(box))
        file.write("]}")


def yolo(folder: Path, names: list[str]) -> None:
    (folder / "data.yaml").write_text(f"train: images\nnames: {json.dumps(CLASSES)}\n")
    lines = "".join(f"{at % 5} 0.{30 + at} 0.4 0.2 0.3\n" for at in range(7))
    _beside_each(folder / "labels", names, ".txt", lines)


def voc(folder: Path, names: list[str]) -> None:
    objects = "".join(
        f"<object><name>class {1 + at % 5}</name><bndbox><xmin>{3 + at}</xmin><ymin>4</ymin><xmax>{30 + at}</xmax>"
        "<ymax>40</ymax></bndbox></object>"
        for at in range(7)
    )
    size = "<size><width>160</width><height>120</height></size>"
    _beside_each(folder / "annotations", names, ".xml", f"<annotation>{size}{objects}</annotation>")


def csv(folder: Path, names: list[str]) -> None:
    with (folder / "boxes.csv").open("w") as file:
        file.write("filename,width,height,class,xmin,ymin,xmax,ymax\n")
        for number, name in enumerate(names):
            for at in range(7):
                box = f"class {1 + at % 5},{3 + at},{number % 7},{30 + at},{30 + number % 9}"
                file.write(f"images/{name}.jpg,160,120,{box}\n")


def _beside_each(folder: Path, names: list[str], suffix: str, text: str) -> None:
    for number, name in enumerate(names):
        path = folder / f"{name}{suffix}"
        if number % 1000 == 0:
            path.parent.mkdir(parents=True)
        path.write_text(text)


WRITERS = {"coco": coco, "yolo": yolo, "voc": voc, "csv": csv}


HOLDFAST = (sys.executable, "-m", "holdfast")
BESIDE_A_THREAD = (
    sys.executable, "-c", "import sys, threading; from holdfast.cli.main import main; "
    "threading.Thread(target=threading.Event().wait, daemon=True).start(); sys.exit(main(sys.argv[1:]))",
)  # fmt: skip


def measured(
    folder: Path, data: str, job: str, workers: str, address: str, program: tuple[str, ...]
) -> tuple[Peak, float]:
    command = [word.replace("DATA", data).replace("OUT", "out") for word in JOBS[job]]
    environment = os.environ | {
        "RAY_ADDRESS": address, "XDG_CACHE_HOME": str(folder / "cache"), "JAX_PLATFORMS": "cpu"
    }  # fmt: skip
    began = time.monotonic()
    process = subprocess.Popen(
        [*program, *command, "--workers", workers],
        cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    peak = Peak()
    with peak.of(process):
        _, error = process.communicate()
    if process.returncode not in (0, 1):
        raise SystemExit(error.decode(errors="replace")[-2000:])
    shutil.rmtree(folder / "out", ignore_errors=True)
    shutil.rmtree(folder / "cache", ignore_errors=True)
    return peak, time.monotonic() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--images", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--format", choices=WRITERS, default="coco")
    parser.add_argument("--jobs", nargs="+", default=list(JOBS), help="words that the names of jobs have")
    parser.add_argument("--ray", choices=("inside", "outside"), help="on two Ray nodes; outside: by ray://")
    parser.add_argument(
        "--spawn", action="store_true", help="local workers are started anew instead of forked"
    )
    args = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="holdfast-listing-"))
    jobs = [job for job in JOBS if any(word in job for word in args.jobs)]
    try:
        for count in args.images:
            make(folder / str(count), count, args.format)
        with cluster(folder) if args.ray else contextlib.nullcontext((["", ""], None)) as ((address, far), _):
            where = f"two Ray nodes, {args.ray} of the cluster" if args.ray else "two processes"
            where += ", started anew" if args.spawn else ""
            workers = {"inside": "auto", "outside": far}.get(args.ray, "2")
            print(f"{args.format}, {where}, images: {args.images}\n\n"
                  "| job | command, MiB | each image more | largest worker, MiB | each image more | took |\n"
                  "|---|---|---|---|---|---|")  # fmt: skip
            for job in jobs:
                program = BESIDE_A_THREAD if args.spawn else HOLDFAST
                row(folder, job, args.images, workers, address, program)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def row(
    folder: Path, job: str, counts: list[int], workers: str, address: str, program: tuple[str, ...]
) -> None:
    found = [measured(folder, str(count), job, workers, address, program) for count in counts]
    cells = []
    for peaks in ([peak.command for peak, _ in found], [peak.worker for peak, _ in found]):
        more = (peaks[-1] - peaks[0]) / max(1, counts[-1] - counts[0])
        cells += [", ".join(str(peak >> 20) for peak in peaks), f"{more:.0f} bytes"]
    print(f"| {job} | {' | '.join(cells)} | {', '.join(f'{took:.0f}' for _, took in found)} s |", flush=True)


if __name__ == "__main__":
    main()
