"""`holdfast export`: a model as a file that runs without Holdfast."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.cli.patience import patience
from holdfast.errors import DataError, ExitCode, UsageError
from holdfast.supervise.hushed import hushed

if TYPE_CHECKING:
    from holdfast.detectors.export_compare import Compared

HELP = "write a model as a SavedModel, ONNX or TFLite file that takes a picture and gives boxes"

FORMS = ("saved_model", "onnx", "tflite")
COMPARED = 20  # pictures, unless told otherwise
CALIBRATED = 200  # more than this changes the ranges little and takes minutes


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", type=Path, help="a model file, or a run that has saved one")
    parser.add_argument("--to", required=True, choices=FORMS, help="which form")
    parser.add_argument(
        "--out", type=Path, required=True, metavar="PATH", help="a new folder (saved_model) or file"
    )
    parser.add_argument(
        "--pictures", nargs="+", metavar="IMAGE", default=[],
        help=f"pictures, folders or globs to compare on, of which {COMPARED} are used; noise when left out",
    )  # fmt: skip
    parser.add_argument(
        "--int8", nargs="+", metavar="IMAGE", default=[],
        help="TFLite only: compute in eight bits, over the ranges seen in these pictures, folders or globs, of which "
        f"{CALIBRATED} are used; training pictures, not those to compare on",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print one JSON object")


@hushed()
def run(args: argparse.Namespace) -> int:
    import os

    if args.int8 and args.to != "tflite":
        raise UsageError(
            "--int8 is for --to tflite",
            where="the command line",
            found=f"--to {args.to}",
            change="--to tflite, or leave --int8 out",
        )
    # All forms are made by TensorFlow. A model file is numpy's, whichever backend trained it.
    os.environ["KERAS_BACKEND"] = "tensorflow"
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    from holdfast.cli.predict import find_pictures
    from holdfast.detectors.model_place import check_target, find

    model = find(args.model)
    check_target(args.out)
    shown = find_pictures(args.pictures) if args.pictures else []
    calibrating = find_pictures(args.int8) if args.int8 else []
    with patience(f"loading the model {model}"):
        from holdfast.detectors import export
        from holdfast.detectors.model_file import load

        detector = load(model, precision="float32")  # TFLite has no half-precision convolutions
    fixed = detector.spec if args.to == "tflite" else None
    pictures = _pictures(shown, fixed, COMPARED) if shown else _noise(fixed)
    with patience(f"writing {args.out}, and comparing it with the model on {len(pictures)} pictures"):
        if args.to == "saved_model":
            compared = export.to_saved_model(detector, args.out, pictures)
        elif args.to == "onnx":
            compared = export.to_onnx(detector, args.out, pictures)
        else:
            calibration = _pictures(calibrating, fixed, CALIBRATED) if calibrating else ()
            compared = export.to_tflite(detector, args.out, pictures, calibration=calibration)
    print(json.dumps(as_json(args.out, compared)) if args.json else as_text(args.out, compared))
    return ExitCode.FINE


def as_json(path: Path, compared: Compared) -> dict[str, Any]:
    return {
        "written": str(path),
        "pictures": compared.pictures,
        "detections": compared.detections,
        "unmatched": compared.unmatched,
        "largest_box_difference_px": compared.boxes,
        "largest_score_difference": compared.scores,
        "tolerance": str(compared.tolerance),
    }


def as_text(path: Path, compared: Compared) -> str:
    if not compared.detections:
        return (
            f"{path} is written and runs, but neither it nor the model finds anything on the "
            f"{compared.pictures} pictures: nothing could be compared; give --pictures that show what it looks for"
        )
    return (
        f"{path} is written, and finds on {compared.pictures} pictures what the model finds: "
        f"{compared.detections - compared.unmatched} of {compared.detections} detections of both together have a "
        f"partner in the other, boxes within {compared.boxes:.2g} pixels, scores within {compared.scores:.2g}\n"
        f"  asked for: {compared.tolerance}"
    )


def _noise(spec: Any) -> list[Any]:
    import numpy as np

    size = spec.input if spec else (240, 320)
    return list(np.random.default_rng(0).integers(0, 256, (4, *size, 3)).astype(np.uint8))


def _pictures(found: list[Path], spec: Any, most: int) -> list[Any]:
    """Decoded and upright, spread evenly over those found; with a `spec` at its input's size, as in training."""
    from holdfast.detectors.inference import as_trained
    from holdfast.pipeline.whole import Undecodable

    chosen = [found[index * len(found) // most] for index in range(most)] if len(found) > most else found
    shown = as_trained(spec) if spec else None
    decoded = []
    for path in chosen:
        try:
            encoded = path.read_bytes()
            decoded.append(shown(encoded).pixels if shown else _decoded(encoded))
        except (OSError, ValueError, SyntaxError, Undecodable) as error:
            raise DataError(
                "a picture to compare on, or to calibrate with, cannot be decoded",
                where=path,
                found=str(error),
                change="leave it out",
            ) from error
    return decoded


def _decoded(encoded: bytes) -> Any:
    import numpy as np
    from PIL import ImageOps

    from holdfast.data.pictures import as_rgb, open_image

    return np.asarray(as_rgb(ImageOps.exif_transpose(open_image(encoded))))
