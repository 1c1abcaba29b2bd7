"""`holdfast anchors`: measures how well a detector's anchors cover a dataset's boxes, and fits better ones."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from holdfast.cli.arguments import INPUT_SIDE, SEED
from holdfast.cli.slow_notice import notice_if_slow
from holdfast.errors import DataError, ExitCode

if TYPE_CHECKING:
    from holdfast.data.records import Dataset


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("data", help="a dataset in any supported format")
    parser.add_argument(
        "--detector", default="ssd", choices=("ssd", "retinanet", "faster-rcnn"), help="default: ssd"
    )
    parser.add_argument(
        "--backbone",
        default="mobilenet_v2",
        choices=("mobilenet_v2", "resnet50", "resnext50", "vgg16"),
        help="default: mobilenet_v2",
    )
    parser.add_argument(
        "--input",
        type=INPUT_SIDE,
        default=320,
        metavar="PIXELS",
        help="side of the network input (default: 320)",
    )
    parser.add_argument("--seed", type=SEED, default=0, help="random seed of the fit (default: 0)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    from holdfast.data.reading.load import read
    from holdfast.detectors.anchors.anchor_fit import coverage, fit
    from holdfast.detectors.spec import DetectorSpec, check

    size = (args.input, args.input)
    spec = check(DetectorSpec(args.detector, args.backbone, ("any",), size))
    with notice_if_slow(f"reading {args.data}"):
        boxes = boxes_in_input(read(args.data, strict=False), size, spec.resizing)
    if not len(boxes):
        raise DataError(
            "the dataset has no boxes to measure anchors on",
            where=args.data,
            change=f"use a dataset with boxes; holdfast check {args.data} shows what was read",
        )
    place = (args.detector, args.backbone, size)
    with notice_if_slow(f"fitting anchors to {len(boxes)} boxes"):
        fitted = fit(*place, boxes, seed=args.seed)
    report = {
        "detector": args.detector, "backbone": args.backbone, "input": args.input, "boxes": len(boxes),
        "given": _figures(coverage(*place, boxes)),
        "fitted": _figures(coverage(*place, boxes, fitted)) | {"shapes": fitted},
    }  # fmt: skip
    print(json.dumps(report) if args.json else as_text(report))
    return ExitCode.FINE


def boxes_in_input(dataset: Dataset, size: tuple[int, int], rule: str) -> Any:
    """All usable boxes in pixels of the input; unreadable images have none."""
    import numpy as np

    from holdfast.data.images.image_file import header
    from holdfast.detectors.anchors.letterbox import map_to_input

    rows = []
    for record in dataset.records:
        usable = [box.corners for box in record.boxes if box.width > 0 and box.height > 0 and not box.crowd]
        if not usable:
            continue
        facts = None if record.image.declared_size else header(record.image)
        image = record.image.declared_size or (facts.upright_size if facts else None)
        if image and min(image) > 0:
            rows.append(map_to_input(image, size, rule).to_input(np.array(usable, dtype=float)))
    boxes = np.concatenate(rows) if rows else np.zeros((0, 4))
    return boxes[np.isfinite(boxes).all(axis=1)]


def _figures(covered: Any) -> dict[str, Any]:
    return {
        "mean_best_overlap": round(covered.mean, 4),
        "covered_at_0.5": round(covered.share(0.5), 4),
        "covered_at_0.7": round(covered.share(0.7), 4),
    }


def as_text(report: dict[str, Any]) -> str:
    given, fitted = report["given"], report["fitted"]
    lines = [
        f"{given['covered_at_0.5']:.1%} of {report['boxes']} boxes have an anchor with IoU of at least 0.5 "
        f"({report['detector']} on {report['backbone']}, {report['input']} px)",
        "",
        "             IoU 0.5  IoU 0.7   mean best IoU",
        _line("  given     ", given),
    ]
    lines += [
        _line("  fitted    ", fitted),
        "",
        "  fitted shapes, width x height in input pixels, per feature level:",
    ]
    lines += ["    " + "  ".join(f"{w:g}x{h:g}" for w, h in level) for level in fitted["shapes"]]
    gain = fitted["covered_at_0.5"] - given["covered_at_0.5"]
    advice = 'use them: anchors = "fitted" in [model]' if gain >= 0.02 else "no need to change the anchors"
    return "\n".join([*lines, "", f"  fitting changes coverage at IoU 0.5 by {gain:+.1%}: {advice}"])


def _line(label: str, figures: dict[str, Any]) -> str:
    return (
        f"{label}  {figures['covered_at_0.5']:>7.1%}  {figures['covered_at_0.7']:>7.1%}   "
        f"{figures['mean_best_overlap']:.3f}"
    )
