"""`python -m tests.object_detection_api.parity --models DIR --images DIR --python PYTHON`: the API's models and ours.

--models: a checkout of tensorflow/models with its protocol buffers compiled. --images: a folder of photographs; 20 are
used. --python: an interpreter with TensorFlow 2.15 and the API's packages. Nothing of the checkout is copied.

The interpreter, of Python 3.11, and the protocol buffers, in research/ of the checkout:

    pip install "tensorflow-cpu==2.15.*" tf_slim "protobuf<4.26" "grpcio-tools<1.63" "numpy<2" "setuptools<70" \\
        pycocotools lvis matplotlib pandas scipy Pillow contextlib2 lxml opencv-python-headless pyyaml gin-config
    pip install --no-deps tensorflow-io==0.36.0 tensorflow-addons==0.23.0 "typeguard<3" tf_keras==2.15.1
    python -m grpc_tools.protoc -I. --python_out=. object_detection/protos/*.proto
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from holdfast.weights_import.object_detection_api.import_config import read_config

from .cases import CASES, Case, config_of
from .compared import Agreement, Answers, compare

_HERE = Path(__file__).parent
_BOXES = 5
_GRID = (
    4096  # boxes lie on it, so that pixels and shares of the image are the same numbers: the API takes shares
)


def main() -> int:
    asked = _arguments()
    bad = 0
    for case in CASES:
        if asked.names and case.name not in asked.names:
            continue
        with tempfile.TemporaryDirectory(prefix="holdfast-parity-") as scratch:
            folder = (asked.keep / case.name if asked.keep else Path(scratch)).absolute()
            folder.mkdir(parents=True, exist_ok=True)
            api, size = api_answers(case, folder, asked)
            for backend in asked.backends:
                found = compare(
                    api, our_answers(folder, backend), np.load(folder / "images.npz")["boxes"], size
                )
                bad += not found.good
                print(line_of(case, backend, found), flush=True)
    return 1 if bad else 0


def api_answers(case: Case, folder: Path, asked: argparse.Namespace) -> tuple[Answers, tuple[int, int]]:
    """The API's own model, its checkpoint in `folder`, and the model that `holdfast import` makes of it."""
    config = folder / "pipeline.config"
    config.write_text(config_of(case, asked.models))
    settings = read_config(config).model
    if settings is None:
        raise SystemExit(f"{case.name} is not imported")
    size = (settings.size.height, settings.size.width)
    if (folder / "imported" / "model.npz").is_file():  # written last
        return dict(np.load(folder / "api.npz")), size
    np.savez(folder / "images.npz", **inputs_of(asked.images, size, case.classes, asked.count))  # type: ignore[arg-type]
    research = asked.models / "research"
    paths = os.pathsep.join([str(research), str(research / "slim"), str(asked.models)])
    subprocess.run(
        [asked.python, str(_HERE / "api_side.py"), str(config), str(folder / "images.npz"), str(folder / "api.npz"),
         str(folder / "checkpoint"), "7"],
        check=True, env={**os.environ, "PYTHONPATH": paths, "TF_CPP_MIN_LOG_LEVEL": "3"}, stderr=_errors(folder),
    )  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-m", "holdfast", "import", str(config), "--checkpoint", str(folder / "checkpoint" / "ckpt-0"),
         "--out", str(folder / "imported")],
        env=_own_environment("tensorflow"), stdout=(folder / "import.txt").open("w"), stderr=_errors(folder),
    )  # fmt: skip
    if done.returncode not in (0, 1):
        raise SystemExit(
            f"the import of {case.name} ended with {done.returncode}: {(folder / 'errors.txt').read_text()[-2000:]}"
        )
    return dict(np.load(folder / "api.npz")), size


def our_answers(folder: Path, backend: str) -> Answers:
    out = folder / f"{backend}.npz"
    subprocess.run(
        [sys.executable, "-m", "tests.object_detection_api.parity.our_side", str(folder / "imported" / "model.npz"),
         str(folder / "images.npz"), str(folder / "api.npz"), str(out)],
        check=True, env=_own_environment(backend), stderr=_errors(folder),
    )  # fmt: skip
    return dict(np.load(out))


def inputs_of(
    folder: Path, size: tuple[int, int], classes: int, count: int
) -> dict[str, NDArray[np.generic]]:
    """Real images at the network's size, so that neither side resizes, and boxes drawn from a seed."""
    files = sorted(file for file in folder.rglob("*") if file.suffix.lower() in (".jpg", ".jpeg", ".png"))
    if len(files) < count:
        raise SystemExit(f"{folder} has {len(files)} images, and {count} are wanted")
    images = [
        np.asarray(Image.open(file).convert("RGB").resize(size[::-1], Image.Resampling.BILINEAR))
        for file in files[:: len(files) // count][:count]
    ]
    rng = np.random.default_rng(3)
    corner = rng.uniform(0.0, 0.6, (count, _BOXES, 2))
    sides = rng.uniform(0.1, 0.38, (count, _BOXES, 2))
    shares = np.round(np.concatenate([corner, corner + sides], axis=-1) * _GRID) / _GRID
    boxes = shares * np.array([*size, *size])
    return {
        "images": np.stack(images), "boxes": boxes.astype(np.float32),
        "labels": rng.integers(0, classes, (count, _BOXES)).astype(np.int32),
    }  # fmt: skip


def line_of(case: Case, backend: str, found: Agreement) -> str:
    return (
        f"{'good' if found.good else 'FAR '} {case.name:26} {backend:10} raw {found.raw:.1e} "
        f"(from float64: the API {found.rounding.api:.1e}, Holdfast {found.rounding.ours:.1e}"
        + (f", in float64 {found.rounding.exact:.0e}" if found.rounding.exact is not None else "")
        + ")  "
        f"{found.detections} detections, {found.unpaired} without a partner, {found.at_the_end} at the end, "
        f"{found.equal} of equal scores, "
        f"least IoU {found.least_iou:.6f}, scores {found.scores:.1e}, losses {found.losses:.1e}"
        + (f", {found.regions_apart} regions without a partner" if found.regions_apart is not None else "")
        + (f", {found.given_apart} apart on the API's outputs" if found.given_apart is not None else "")
        + (
            f" (without {found.left_out} images with equal anchors or other regions)"
            if found.left_out
            else ""
        )
    )


def _own_environment(backend: str) -> dict[str, str]:
    return {**os.environ, "KERAS_BACKEND": backend, "TF_CPP_MIN_LOG_LEVEL": "3"}


def _errors(folder: Path) -> object:
    return (folder / "errors.txt").open("ab")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.object_detection_api.parity",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", help=f"only these: {', '.join(case.name for case in CASES)}")
    parser.add_argument("--models", type=Path, required=True, help="a checkout of tensorflow/models")
    parser.add_argument("--images", type=Path, required=True, help="a folder of photographs")
    parser.add_argument(
        "--python", default=sys.executable, help="the interpreter that has the API's packages"
    )
    parser.add_argument("--count", type=int, default=20, help="how many images (default: %(default)s)")
    parser.add_argument("--backends", nargs="+", default=["tensorflow", "jax"], help="default: both")
    parser.add_argument(
        "--keep", type=Path, help="leave models and answers here; use those of the API that are there"
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
