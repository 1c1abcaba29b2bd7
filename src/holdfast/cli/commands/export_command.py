"""`holdfast export`: writes a model as a file that runs without Holdfast."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.cli.arguments import add_hidden_alias
from holdfast.cli.image_arguments import find_images
from holdfast.cli.slow_notice import notice_if_slow
from holdfast.errors import DataError, ExitCode, UsageError
from holdfast.supervise.child.tensorflow_noise import filter_tensorflow_noise

if TYPE_CHECKING:
    from holdfast.detectors.export.verify_export import ExportComparison

FORMS = ("saved_model", "onnx", "tflite")
COMPARED = 20  # images
CALIBRATED = 200  # more than this changes the ranges little and takes minutes


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", type=Path, help="a model file, or a run folder with a saved model")
    parser.add_argument("--to", required=True, choices=FORMS, help="the format")
    parser.add_argument(
        "--out", type=Path, required=True, metavar="PATH", help="the folder (saved_model) or file to write"
    )
    parser.add_argument(
        "--images", nargs="+", metavar="IMAGE", default=[],
        help=f"images, folders or globs to compare model and export on; {COMPARED} are used (default: noise)",
    )  # fmt: skip
    add_hidden_alias(parser, "--pictures", of="--images", nargs="+", metavar="IMAGE")
    parser.add_argument(
        "--int8", nargs="+", metavar="IMAGE", default=[],
        help="TFLite only: quantize to int8, calibrated on these images, folders or globs; "
        f"{CALIBRATED} are used. Give training images, not those of --images",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print one JSON object")


@filter_tensorflow_noise()
def run(args: argparse.Namespace) -> int:
    import os

    if args.int8 and args.to != "tflite":
        raise UsageError(
            "--int8 needs --to tflite",
            where="the command line",
            found=f"--to {args.to}",
            change="--to tflite, or leave out --int8",
        )
    # TensorFlow writes all formats. A model file loads with either backend.
    os.environ["KERAS_BACKEND"] = "tensorflow"
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    from holdfast.detectors.model_paths import check_target, find_model

    model = find_model(args.model)
    check_target(args.out)
    shown = find_images(args.images) if args.images else []
    calibrating = find_images(args.int8) if args.int8 else []
    with notice_if_slow(f"loading the model {model}"):
        from holdfast.detectors.export import export_model
        from holdfast.detectors.model_file import load

        detector = load(model, precision="float32")  # TFLite has no half-precision convolutions
    fixed = detector.spec if args.to == "tflite" else None
    images = _images(shown, fixed, COMPARED) if shown else _noise(fixed)
    with notice_if_slow(f"writing {args.out}, and comparing it with the model on {len(images)} images"):
        if args.to == "saved_model":
            compared = export_model.to_saved_model(detector, args.out, images)
        elif args.to == "onnx":
            compared = export_model.to_onnx(detector, args.out, images)
        else:
            calibration = _images(calibrating, fixed, CALIBRATED) if calibrating else ()
            compared = export_model.to_tflite(detector, args.out, images, calibration=calibration)
    print(json.dumps(as_json(args.out, compared)) if args.json else as_text(args.out, compared))
    return ExitCode.FINE


def as_json(path: Path, compared: ExportComparison) -> dict[str, Any]:
    return {
        "written": str(path),
        "pictures": compared.images,
        "detections": compared.detections,
        "unmatched": compared.unmatched,
        "largest_box_difference_px": compared.boxes,
        "largest_score_difference": compared.scores,
        "tolerance": str(compared.tolerance),
    }


def as_text(path: Path, compared: ExportComparison) -> str:
    if not compared.detections:
        return (
            f"{path} is written and runs, but neither it nor the model detects anything in the "
            f"{compared.images} images, so they could not be compared; give --images with objects"
        )
    return (
        f"{path} is written and agrees with the model on {compared.images} images: "
        f"{compared.detections - compared.unmatched} of {compared.detections} detections match, "
        f"boxes within {compared.boxes:.2g} pixels, scores within {compared.scores:.2g}\n"
        f"  tolerance: {compared.tolerance}"
    )


def _noise(spec: Any) -> list[Any]:
    import numpy as np

    size = spec.input if spec else (240, 320)
    return list(np.random.default_rng(0).integers(0, 256, (4, *size, 3)).astype(np.uint8))


def _images(found: list[Path], spec: Any, most: int) -> list[Any]:
    """Decoded and upright, a regular sample of those found; with a `spec`, resized to its input as in training."""
    from holdfast.detectors.inference import as_trained
    from holdfast.pipeline.decode import Undecodable

    chosen = [found[index * len(found) // most] for index in range(most)] if len(found) > most else found
    shown = as_trained(spec) if spec else None
    decoded = []
    for path in chosen:
        try:
            encoded = path.read_bytes()
            decoded.append(shown(encoded).pixels if shown else _decoded(encoded))
        except (OSError, ValueError, SyntaxError, Undecodable) as error:
            raise DataError(
                "an image of --images or --int8 cannot be decoded",
                where=path,
                found=str(error),
                change="leave this image out",
            ) from error
    return decoded


def _decoded(encoded: bytes) -> Any:
    import numpy as np
    from PIL import ImageOps

    from holdfast.data.images.image_file import as_rgb, open_image

    return np.asarray(as_rgb(ImageOps.exif_transpose(open_image(encoded))))
