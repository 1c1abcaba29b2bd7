"""`holdfast check`: what is wrong with a dataset, or with what a recipe names, before a run finds out."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

from holdfast.errors import ExitCode

if TYPE_CHECKING:
    from holdfast.data.census import Census
    from holdfast.data.checks import Report

HELP = "what is wrong with a dataset or a recipe, before a run finds out"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "path", help="a folder, an annotation file, a TFRecord glob, a URL, or a recipe (.toml)"
    )
    parser.add_argument("--format", choices=("coco", "voc", "labelme", "yolo", "tfrecord", "csv"),
                        help="read it as this instead of finding out")  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--no-cache", action="store_true", help="decode every picture again")
    parser.add_argument("--processes", type=int, metavar="N", help="workers; all cores when left out")


def run(args: argparse.Namespace) -> int:
    from holdfast.data.checks import Part, check
    from holdfast.data.shown import as_text

    recipe = _recipe(args.path)
    parts = [Part(args.path, format=args.format)]
    classes: list[str] = []
    if recipe is not None:
        parts = [Part(recipe.data.train, "train" if recipe.data.validation else None, args.format)]
        parts += [Part(recipe.data.validation, "validation", args.format)] if recipe.data.validation else []
        classes = recipe.data.classes or []
    report, census = check(
        parts,
        classes=classes,
        use_cache=not args.no_cache,
        processes=max(1, args.processes) if args.processes else None,
    )
    if recipe is not None:
        report = _with_anchors(report, census, recipe)
    if args.json:
        print(json.dumps(report.as_json(), ensure_ascii=False))
    else:
        print(as_text(report, colour=sys.stdout.isatty()))
    return ExitCode.FINDINGS if report.spoiled else ExitCode.FINE


def _recipe(path: str) -> Any:
    if not path.endswith(".toml"):
        return None
    from holdfast import settings

    return settings.read(path)


def _with_anchors(report: Report, census: Census, recipe: Any) -> Report:
    """The report, with the boxes that the recipe's detector has no anchor for."""
    from holdfast.data.checks import with_uncovered

    anchors = _anchors(recipe, max(1, len(report.classes)))
    return report if anchors is None else with_uncovered(report, census, anchors, recipe.model.input)


def _anchors(recipe: Any, classes: int) -> Any:
    """The detector's anchors; None where the detectors' own packages are not installed."""
    from importlib import import_module

    try:
        anchors_of = import_module("holdfast.detectors.reference").anchors_of
    except (ImportError, AttributeError):
        return None
    return anchors_of(recipe.model.detector, recipe.model.backbone, recipe.model.input)
