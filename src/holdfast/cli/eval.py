"""`holdfast eval`: COCO metrics of detections against the truth."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from holdfast.errors import ExitCode, UsageError

HELP = "COCO and VOC metrics of detections, by class, and what the wrong ones are"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--ground-truth", type=Path, metavar="GT.json", required=True, help="a COCO file of the true boxes"
    )
    parser.add_argument(
        "--detections", type=Path, metavar="DT.json", required=True, help="a COCO results file"
    )
    parser.add_argument(
        "--score",
        type=float,
        default=0.25,
        metavar="S",
        help="count mistakes among detections with at least this score (default 0.25); the metrics use all",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    from holdfast.evaluate.files import read_found, read_truth
    from holdfast.evaluate.summary import as_json, as_text, evaluate

    if not 0.0 <= args.score <= 1.0:
        raise UsageError(
            "--score is between 0 and 1", where="the command line", found=f"--score {args.score:g}"
        )
    truth = read_truth(args.ground_truth)
    result = evaluate(truth, read_found(args.detections, truth), score_above=args.score)
    print(json.dumps(as_json(result)) if args.json else as_text(result))
    return ExitCode.FINE
