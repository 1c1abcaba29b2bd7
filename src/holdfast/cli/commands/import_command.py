"""`holdfast import`: a detector that was trained elsewhere, as a model file and a recipe of Holdfast."""

from __future__ import annotations

import argparse
from pathlib import Path

from holdfast.cli.arguments import EPSILON, INPUT_SIDE
from holdfast.cli.image_arguments import choose_backend
from holdfast.errors import UsageError
from holdfast.supervise.child.tensorflow_noise import filter_tensorflow_noise


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", type=Path, help="a .pth file of torchvision, or a pipeline.config of the Object Detection API"
    )
    parser.add_argument(
        "--out", type=Path, metavar="FOLDER", help="the folder to write (default: the file's name, here)"
    )
    parser.add_argument(
        "--checkpoint", type=Path, metavar="CKPT", help="of a pipeline.config: the checkpoint, such as ckpt-0"
    )
    parser.add_argument(
        "--classes", metavar="NAMES",
        help="of a .pth file: its class names, with commas or one a line in a file (default: COCO's, or numbers)",
    )  # fmt: skip
    parser.add_argument(
        "--epsilon", type=EPSILON, metavar="E",
        help="of a .pth file: what its batch normalisations add to the variance (default: 1e-05, as torchvision; 0 for "
        "models that started from its first files for Faster R-CNN and RetinaNet)",
    )  # fmt: skip
    parser.add_argument(
        "--input", type=INPUT_SIDE, metavar="SIDE",
        help="of a .pth file: the side of the network's input in pixels (default: by the architecture)",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print one JSON object")


@filter_tensorflow_noise()
def run(args: argparse.Namespace) -> int:
    from holdfast.weights_import.import_source import ImportSource, source_of

    choose_backend()
    if source_of(args.file) is ImportSource.STATE_DICT:
        from holdfast.weights_import.torchvision.import_state_dict import run_import

        return run_import(args)
    for option in ("classes", "epsilon", "input"):
        if getattr(args, option) is not None:
            raise UsageError(
                f"--{option} belongs to a .pth file, and this is a pipeline.config, which says it itself",
                where="the command line",
                change=f"leave out --{option}",
            )
    from holdfast.weights_import.object_detection_api.import_config import run_import as run_config_import

    return run_config_import(args)
