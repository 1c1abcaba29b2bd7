"""`holdfast export`: a model as a file that runs without Holdfast."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from holdfast.errors import ExitCode

HELP = "write a model as a SavedModel or TFLite file that takes a picture and gives boxes"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", type=Path, help="a model file, or a run that has saved one")
    parser.add_argument("--to", required=True, choices=("saved_model", "tflite"), help="which form")
    parser.add_argument(
        "--out", type=Path, required=True, metavar="PATH", help="a new folder (saved_model) or file"
    )
    parser.add_argument(
        "--pictures",
        nargs="+",
        metavar="IMAGE",
        default=[],
        help="pictures, folders or globs to compare on, of which 20 are used; noise when left out",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    import os

    os.environ["KERAS_BACKEND"] = "tensorflow"  # both forms are made by TensorFlow
    from holdfast.detectors.export import to_saved_model, to_tflite
    from holdfast.detectors.model_file import find, load

    detector = load(find(args.model))
    if args.to == "saved_model":
        compared = to_saved_model(detector, args.out, _pictures(args.pictures, None))
    else:
        compared = to_tflite(detector, args.out, _pictures(args.pictures, detector.spec))
    report = {
        "written": str(args.out),
        "pictures": compared.pictures,
        "detections": compared.detections,
        "unmatched": compared.unmatched,
        "largest_box_difference_px": compared.boxes,
        "largest_score_difference": compared.scores,
    }
    if args.json:
        print(json.dumps(report))
    else:
        print(
            f"{args.out} is written, and finds on {compared.pictures} pictures what the model finds: "
            f"{compared.detections - compared.unmatched} of {compared.detections} detections are the same, "
            f"boxes within {compared.boxes:.2g} pixels, "
            f"scores within {compared.scores:.2g}"
        )
    return ExitCode.FINE


def _pictures(places: list[str], spec: Any, most: int = 20) -> list[Any]:
    """Decoded and upright; brought to the input's size where a form wants that (`spec`)."""
    import numpy as np
    from PIL import Image, ImageOps

    from holdfast.cli.predict import find_pictures
    from holdfast.detectors.resizing import resized

    if not places:
        noise = np.random.default_rng(0).integers(0, 256, (4, *(spec.input if spec else (240, 320)), 3))
        return list(noise.astype(np.uint8))
    images = [
        ImageOps.exif_transpose(Image.open(path)).convert("RGB") for path in find_pictures(places)[:most]
    ]
    return [resized(image, spec.input, spec.resizing) if spec else np.asarray(image) for image in images]
