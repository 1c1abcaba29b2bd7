"""`python -m tests.torchvision_parity --python INTERPRETER --data DIR`: torchvision against Holdfast, real images.

INTERPRETER has torch and torchvision 0.13 or later (for instance a virtual environment of Python 3.10 with
`pip install torch==1.12.1 torchvision==0.13.1 "numpy<2" pillow`); DIR is the folder `data` of CONTRIBUTING.md. Each
architecture gets the same made weights in both, on each backend: raw head outputs, detections, and losses.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

ARCHITECTURES = (
    "ssdlite320_mobilenet_v3_large", "ssd300_vgg16", "retinanet_resnet50_fpn", "retinanet_resnet50_fpn_v2",
    "fasterrcnn_resnet50_fpn", "fasterrcnn_resnet50_fpn_v2", "fasterrcnn_mobilenet_v3_large_fpn",
    "fasterrcnn_mobilenet_v3_large_320_fpn",
)  # fmt: skip
SETS = ("microcontroller", "bccd")
FEW = 5  # raw outputs and losses are compared on the first few
RAW, LOSS = 1e-4, 1e-4


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--python", type=Path, required=True, help="an interpreter with torch and torchvision"
    )
    parser.add_argument("--data", type=Path, required=True, help="the folder `data` of CONTRIBUTING.md")
    parser.add_argument("--only", nargs="+", choices=ARCHITECTURES, default=ARCHITECTURES)
    parser.add_argument("--backends", nargs="+", choices=("tensorflow", "jax"), default=("tensorflow", "jax"))
    parser.add_argument("--images", type=int, default=20, help="how many photographs (default: %(default)s)")
    parser.add_argument(
        "--work", type=Path, help="keep state dicts and answers here (default: a temporary folder)"
    )
    args = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as temporary:
        work = args.work or Path(temporary)
        work.mkdir(parents=True, exist_ok=True)
        make_inputs(args.data, work, args.images)
        right = [compare(name, args.python, args.backends, work) for name in args.only]
    return 0 if all(right) else 1


def compare(name: str, python: Path, backends: Sequence[str], work: Path) -> bool:
    side = 300 if name.startswith("ssd300") else 320
    if not (work / f"{name}.npz").is_file():
        program = Path(__file__).parent / "torch_side.py"
        inputs = work / f"inputs_{side}.npz"
        _run(
            [str(python), str(program), name, str(inputs), str(work), str(FEW)],
            "",
        )
    right = True
    for backend in backends:
        told = json.loads(
            _run([sys.executable, "-m", "tests.torchvision_parity.holdfast_side", str(work), name], backend)
        )
        right &= _show(name, backend, told)
    return right


def _show(name: str, backend: str, told: dict) -> bool:
    print(
        f"{name} on {backend}: {told['detections']} detections of both, {told['unpaired']} without a partner, "
        f"{told['tied']} of equal scores taken otherwise, {told['chained']} from regions taken otherwise"
    )
    right = told["unpaired"] == 0
    for what, value in told["worst"].items():
        limit = 0 if "partner" in what else LOSS if what.startswith("loss") else RAW
        right &= value <= limit
        print(f"  {what:<32} {value:.2g}{'' if value <= limit else '   more than ' + format(limit, 'g')}")
    sys.stdout.flush()
    return right


def make_inputs(data: Path, work: Path, count: int) -> None:
    """The same photographs, stretched to each side that is compared, with their boxes."""
    from PIL import Image

    from holdfast.data.reading.load import read

    chosen = []
    for name in SETS:
        records = [one for one in read(str(data / name)).records if len(one.boxes)]
        share = max(1, count // len(SETS))
        chosen += records[:: len(records) // share][:share]
    for side in (300, 320):
        most = max(len(record.boxes) for record in chosen)
        images = np.zeros((len(chosen), side, side, 3), np.uint8)
        boxes = np.zeros((len(chosen), most, 4), np.float32)
        labels = np.ones((len(chosen), most), np.int64)
        counts = np.zeros(len(chosen), np.int64)
        for index, record in enumerate(chosen):
            image = Image.open(record.image.path).convert("RGB")
            scale = np.array([side / image.width, side / image.height] * 2)
            images[index] = np.asarray(image.resize((side, side), Image.Resampling.BILINEAR))
            own = np.array([[box.x1, box.y1, box.x2, box.y2] for box in record.boxes]) * scale
            own = own[(own[:, 2:] - own[:, :2] > 1).all(axis=1)]
            boxes[index, : len(own)], counts[index] = own, len(own)
            labels[index, : len(own)] = 1 + np.arange(len(own)) * 7 % 90
        np.savez(work / f"inputs_{side}.npz", images=images, boxes=boxes, labels=labels, counts=counts)


def _run(command: list[str], backend: str) -> str:
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"}
    if backend:
        environment["KERAS_BACKEND"] = backend
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr[-3000:])
    return done.stdout.strip().splitlines()[-1] if done.stdout.strip() else ""


if __name__ == "__main__":
    sys.exit(main())
