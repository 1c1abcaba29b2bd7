"""`holdfast eval`: COCO metrics of detections against the truth."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.errors import DataError, ExitCode, UsageError

if TYPE_CHECKING:
    from holdfast.evaluate.columns import Found, Truth

HELP = "COCO and VOC metrics of detections, by class, and what the wrong ones are"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", nargs="?", type=Path, metavar="RUN_OR_MODEL", help="a model file, or a run")
    parser.add_argument("data", nargs="?", help="a dataset to try the model on")
    parser.add_argument("--ground-truth", type=Path, metavar="GT.json", help="a COCO file of the true boxes")
    parser.add_argument("--detections", type=Path, metavar="DT.json", help="a COCO results file")
    parser.add_argument("--split", metavar="NAME", help="only this split of the dataset, as in val")
    parser.add_argument("--batch", type=int, default=8, help="pictures at once (8)")
    parser.add_argument(
        "--score",
        type=float,
        default=0.25,
        metavar="S",
        help="count mistakes among detections with at least this score (0.25); the metrics use all",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    if not 0.0 <= args.score <= 1.0:
        raise UsageError(
            "--score is between 0 and 1", where="the command line", found=f"--score {args.score:g}"
        )
    files = args.ground_truth is not None and args.detections is not None
    model = args.model is not None and args.data is not None
    if files == model:
        raise UsageError(
            "holdfast eval compares two files, or tries a model on a dataset",
            where="the command line",
            change=[
                "holdfast eval --ground-truth GT.json --detections DT.json",
                "holdfast eval RUN_OR_MODEL DATA",
            ],
        )
    from holdfast.evaluate.summary import as_json, as_text, evaluate

    truth, found = _of_files(args) if files else _of_model(args)
    result = evaluate(truth, found, score_above=args.score)
    print(json.dumps(as_json(result)) if args.json else as_text(result))
    return ExitCode.FINE


def _of_files(args: argparse.Namespace) -> tuple[Truth, Found]:
    from holdfast.evaluate.files import read_found, read_truth

    truth = read_truth(args.ground_truth)
    return truth, read_found(args.detections, truth)


def _of_model(args: argparse.Namespace) -> tuple[Truth, Found]:
    from holdfast.data.reading import read
    from holdfast.detectors.inference import detect_all
    from holdfast.detectors.model_file import find, load
    from holdfast.evaluate.dataset import found_in, truth_of

    dataset = read(args.data)
    if args.split is not None:
        dataset = dataset.only_split(args.split)
    if not dataset.records:
        raise DataError("there is no picture to try the model on", where=args.data)
    model = find(args.model)
    detector = load(model)
    truth = truth_of(dataset, detector.spec.classes)
    pictures = [record.picture for record in dataset.records]
    seen = list(detect_all(detector, pictures, batch=min(args.batch, len(pictures))))
    for picture, one in zip(pictures, seen, strict=True):
        if one.problem:
            raise DataError("a picture cannot be read", where=picture.path, found=one.problem)
    return truth, found_in(seen)
