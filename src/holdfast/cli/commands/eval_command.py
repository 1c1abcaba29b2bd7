"""`holdfast eval`: COCO and VOC metrics of detections against ground truth."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.cli.arguments import SCORE, add_workers, integer
from holdfast.cli.image_arguments import choose_backend, count_images
from holdfast.cli.slow_notice import notice_if_slow
from holdfast.data.files.progress_bar import tracked
from holdfast.detectors.model_paths import check_target, find_model
from holdfast.errors import DataError, ExitCode, UsageError
from holdfast.journal.folder import RunFolder
from holdfast.stderr import print_line
from holdfast.supervise.child.tensorflow_noise import filter_tensorflow_noise

if TYPE_CHECKING:
    from holdfast.data.records import Dataset, Record
    from holdfast.detectors.build import Detector
    from holdfast.detectors.inference import ImageDetections
    from holdfast.evaluate.box_columns import GroundTruth, Predictions


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "model", nargs="?", type=Path, metavar="RUN_OR_MODEL", help="a model file, or a run folder"
    )
    parser.add_argument(
        "data", nargs="?", help="a dataset to evaluate on (default: the run's validation set)"
    )
    parser.add_argument("--ground-truth", type=Path, metavar="GT.json", help="ground truth as a COCO file")
    parser.add_argument(
        "--detections", type=Path, metavar="DT.json", help="detections as a COCO results file"
    )
    parser.add_argument("--split", metavar="NAME", help="only this split of the dataset, e.g. val")
    parser.add_argument(
        "--batch", type=integer(1, such_as=8), default=8, help="images per batch (default: 8)"
    )
    parser.add_argument(
        "--score",
        type=SCORE,
        default=0.25,
        metavar="S",
        help="lowest score in the error analysis (default: 0.25); the metrics use all detections",
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="DT.json",
        help="write the model's detections to this COCO results file",
    )
    add_workers(parser, "what runs the model")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


@filter_tensorflow_noise()
def run(args: argparse.Namespace) -> int:
    _check(args)
    from holdfast.evaluate.summary import as_json, as_text, evaluate

    unreadable: list[str] = []
    truth, found = _of_files(args) if args.model is None else _of_model(args, unreadable)
    with notice_if_slow("comparing the detections with the ground truth"):
        result = evaluate(truth, found, score_above=args.score)
    if args.json:
        print(json.dumps(as_json(result) | ({"unreadable": unreadable} if unreadable else {})))
    else:
        print(as_text(result))
    return ExitCode.FINDINGS if unreadable else ExitCode.FINE


def _check(args: argparse.Namespace) -> None:
    files = args.ground_truth is not None and args.detections is not None
    either = args.ground_truth is not None or args.detections is not None
    own = args.model is not None and (args.data is not None or RunFolder(args.model).recipe.is_file())
    if args.model is not None:
        find_model(args.model)
    if args.out is not None:
        if args.model is None:
            raise UsageError(
                "--out writes the detections of a model, and no model is given",
                where="the command line",
                found=f"--out {args.out}",
                change="holdfast eval RUN_OR_MODEL DATA --out DT.json, or leave out --out",
            )
        check_target(args.out, "the detections")
    if not (files and args.model is None) and not (own and not either):
        raise UsageError(
            "holdfast eval needs two files, or a model and a dataset",
            where="the command line",
            found=_what_is_missing(args, own=own),
            change=[
                "holdfast eval --ground-truth GT.json --detections DT.json",
                "holdfast eval RUN_OR_MODEL DATA",
                "holdfast eval RUN",
            ],
        )


def _what_is_missing(args: argparse.Namespace, *, own: bool) -> str:
    if args.model is not None and not own:
        return f"{args.model} is not a run, so it has no validation set"
    given = {"--ground-truth": args.ground_truth, "--detections": args.detections}
    alone = [name for name, value in given.items() if value is not None]
    if args.model is None and len(alone) == 1:
        other = next(name for name in given if name not in alone)
        return f"{alone[0]} without {other}"
    return f"a model, and {' and '.join(alone)}" if args.model is not None and alone else ""


def _of_files(args: argparse.Namespace) -> tuple[GroundTruth, Predictions]:
    from holdfast.evaluate.detection_files import read_ground_truth, read_predictions

    with notice_if_slow(f"reading {args.ground_truth} and {args.detections}"):
        truth = read_ground_truth(args.ground_truth)
        return truth, read_predictions(args.detections, truth)


def _of_model(args: argparse.Namespace, unreadable: list[str]) -> tuple[GroundTruth, Predictions]:
    """Unreadable images are left out of ground truth and detections, reported, and added to `unreadable`."""
    with notice_if_slow(f"reading {args.data or 'the validation set of the run'}"):
        source, dataset = _dataset(args)
    choose_backend()
    with notice_if_slow(f"loading the model {find_model(args.model)}"):
        from holdfast.data.workers import worker_choice
        from holdfast.detectors.model_file import load
        from holdfast.evaluate import coco_results
        from holdfast.evaluate.model_detections import check_classes, drop_unknown_classes, predictions_of
        from holdfast.pipeline.dataset_columns import from_facts
        from holdfast.train.validation import ground_truth_of

        detector = load(find_model(args.model))
    classes, records = detector.spec.classes, dataset.records
    if args.data is None:
        dataset, without = drop_unknown_classes(dataset)
        if without:
            print_line(without)
    check_classes(dataset, classes)  # before any computation
    reads = [record.image.path for record in records[:3]]
    with worker_choice.using(args.workers, reads=reads):
        seen = _seen(args, detector, records, unreadable)
    if len(unreadable) == len(records):
        raise DataError("no image of the dataset can be read", where=dataset.path, found=unreadable[:3])
    if args.out is not None:
        coco_results.write(coco_results.coco_results(source, records, seen, classes), args.out)
    kept = tuple(record for record, one in zip(dataset.records, seen, strict=True) if not one.problem)
    seen = [one for one in seen if not one.problem]
    in_model_order = replace(dataset, records=kept, classes=classes, class_ids=())
    columns = from_facts(in_model_order, [one.facts for one in seen])
    for box in columns.left_out:
        print_line(f"{box.file}: a ground-truth box is ignored: {box.detail}")
    return ground_truth_of(columns), predictions_of(seen)


def _seen(
    args: argparse.Namespace, detector: Detector, records: Sequence[Record], unreadable: list[str]
) -> list[ImageDetections]:
    """The detections in each image; none in an unreadable one, which is reported."""
    from holdfast.detectors.detect_workers import detect_by_workers
    from holdfast.detectors.inference import detect_all

    images = [record.image for record in records]
    batch = min(args.batch, len(images))
    answers = (
        detect_by_workers(find_model(args.model), images, batch=batch)
        if args.workers
        else detect_all(detector, images, batch=batch)
    )
    with notice_if_slow(f"evaluating the model on {count_images(images)}"):
        seen = list(tracked(answers, "evaluating", len(images)))
    for image, one in zip(images, seen, strict=True):
        if one.problem:
            unreadable.append(image.path)
            print_line(f"{image.path}: left out of the evaluation: {one.problem}")
    return seen


def _dataset(args: argparse.Namespace) -> tuple[Dataset, Dataset]:
    """A dataset as it was read, and the part to evaluate on: all, a split, or the validation set of a run."""
    if args.data is None:
        from holdfast import settings
        from holdfast.train.dataset_setup import load_splits

        near = not (args.workers and args.workers.on_ray)
        parts = load_splits(settings.read(RunFolder(args.model).recipe), near=near)
        print_line(parts.notes)
        source, dataset = parts.validation_source, parts.validation
    else:
        from holdfast.data.reading.load import read

        source = dataset = read(args.data)
    if args.split is not None:
        if args.split not in dataset.splits:
            raise DataError(
                f"the dataset has no split named {args.split!r}",
                where=dataset.path,
                found=f"its splits: {', '.join(dataset.splits) or 'none'}",
                change="--split with one of these, or leave it out for all",
            )
        dataset = dataset.only_split(args.split)
    if not dataset.records:
        raise DataError(
            "there are no images to evaluate on",
            where=dataset.path,
            change="give a dataset with images, or another --split",
        )
    return source, dataset
