"""`holdfast check`: what is wrong with a dataset, or with what a recipe names, before a run finds out."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.cli.arguments import PROCESSES, positive
from holdfast.cli.patience import patience
from holdfast.cli.train import is_there, refuse_stranger
from holdfast.errors import ExitCode, UsageError

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
    parser.add_argument("--processes", type=PROCESSES, metavar="N", help="workers; all cores when left out")
    parser.add_argument(
        "--step-speed", type=positive("pictures a second", such_as="120"), metavar="IMAGES_PER_S",
        help="of a recipe: what one training step takes, to say whether it would wait for data",
    )  # fmt: skip
    parser.add_argument(
        "--no-speed", action="store_true", help="of a recipe: do not measure how fast the data comes"
    )
    parser.add_argument(
        "--lr", action="store_true", help="of a recipe: also run the range test of `holdfast lr-find`"
    )


def run(args: argparse.Namespace) -> int:
    from holdfast.data.checks import Part, check
    from holdfast.data.shown import as_text

    refuse_stranger(args.path)
    recipe = _recipe(args.path)
    if recipe is None and args.lr:
        raise UsageError(
            "--lr trains by a recipe, and this path is data",
            where=args.path,
            change=f"holdfast lr-find {args.path} tests the defaults; or give --lr the recipe (.toml)",
        )
    parts = [Part(args.path, format=args.format)]
    classes: list[str] = []
    if recipe is not None:
        parts = [Part(recipe.data.train, "train" if recipe.data.validation else None, args.format)]
        parts += [Part(recipe.data.validation, "validation", args.format)] if recipe.data.validation else []
        classes = recipe.data.classes or []
    with patience(f"reading {' and '.join(part.path for part in parts)} and decoding every picture"):
        report, census = check(parts, classes=classes, use_cache=not args.no_cache, processes=args.processes)
    if recipe is not None:
        with patience("building the detector, to see which boxes its anchors cover"):
            report = _with_anchors(report, census, recipe)
        report = _with_rate(report, Path(args.path), recipe, now=args.lr)
        if not args.no_speed and not report.spoiled:  # what cannot be read cannot be timed
            with patience("measuring how fast the data comes"):
                report = _with_speed(report, args.path, args.step_speed)
        with patience("looking at the buckets"):
            report = _with_cloud(report, recipe)
    if args.json:
        print(json.dumps(report.as_json(), ensure_ascii=False))
    else:
        print(as_text(report, colour=sys.stdout.isatty()))
    return ExitCode.FINDINGS if report.spoiled else ExitCode.FINE


def _recipe(path: str) -> Any:
    if not path.endswith(".toml"):
        return None
    from dataclasses import replace

    from holdfast import settings

    recipe = settings.read(path)
    data = recipe.data
    found = replace(data, train=_beside(path, data.train), validation=_beside(path, data.validation))
    return replace(recipe, data=found)


def _beside(recipe: str, path: Any) -> Any:
    """A path that is not found from here is looked for beside the recipe, as training does."""
    if not path or "://" in path:
        return path
    here = os.path.expanduser(path)
    beside = str(Path(recipe).parent / here)
    return beside if not is_there(here) and is_there(beside) else here


def _with_anchors(report: Report, census: Census, recipe: Any) -> Report:
    """The report, with the boxes that the recipe's detector has no anchor for."""
    from holdfast.data.checks import with_uncovered

    found = _anchors(recipe) if census.sample else None
    return (
        report
        if found is None
        else with_uncovered(report, census, found[1], recipe.model.input, resizing=found[0])
    )


def _with_cloud(report: Report, recipe: Any) -> Report:
    """The report, with what is wrong with the buckets that the recipe or the cloud's variables name."""
    from holdfast.data.checks import with_problem
    from holdfast.launch import cloud_check

    for problem in cloud_check.problems(recipe, os.environ):
        report = with_problem(report, problem)
    return report


def _with_rate(report: Report, path: Path, recipe: Any, *, now: bool) -> Report:
    """The report, with a learning rate far from what a range test suggests: one made now, or kept from before."""
    from holdfast.cli import lr_find
    from holdfast.data.checks import with_problem
    from holdfast.data.source import Problem
    from holdfast.train import range_test

    if now:
        from holdfast.cli.train import _placed

        lr_find.store(path, lr_find.measured(_placed(recipe, path.parent), steps=lr_find.STEPS))
    suggested = lr_find.suggested_for(path, recipe)
    detail = range_test.verdict(recipe.train.learning_rate, suggested) if suggested else ""
    return with_problem(report, Problem("learning-rate-far", str(path), detail)) if detail else report


def _with_speed(report: Report, path: str, step_images_per_s: float | None) -> Report:
    """The report, with how fast the data comes, and whether training would wait for it."""
    from dataclasses import replace

    from holdfast.cli.check_speed import asked
    from holdfast.data.findings import RANK

    findings = (*report.findings, *asked(path, step_images_per_s))
    return replace(report, findings=tuple(sorted(findings, key=lambda finding: RANK[finding.severity])))


#: Run in a process of its own: the detectors bring Keras, and nothing here may open a GPU.
_ASK_DETECTOR = """
import sys, io, numpy
from holdfast.detectors.build import build
from holdfast.detectors.spec import DetectorSpec
detector, backbone, side = sys.argv[1], sys.argv[2], int(sys.argv[3])
spec = DetectorSpec(detector, backbone, ("object",), (side, side), normalization="group")
out = io.BytesIO()
numpy.save(out, numpy.asarray(build(spec).anchors, "float32"))
sys.stdout.buffer.write(spec.resizing.encode() + b"\\n" + out.getvalue())
"""


def _anchors(recipe: Any) -> tuple[str, Any] | None:
    """How the detector resizes and its anchors; None where it cannot be built here."""
    import io
    import os
    import subprocess

    import numpy as np

    model = recipe.model
    hidden = {"CUDA_VISIBLE_DEVICES": "-1", "JAX_PLATFORMS": "cpu", "TF_CPP_MIN_LOG_LEVEL": "3"}
    environment = {**os.environ, **hidden, "KERAS_BACKEND": recipe.train.backend}
    command = [sys.executable, "-c", _ASK_DETECTOR, model.detector, model.backbone, str(model.input)]
    try:
        done = subprocess.run(command, env=environment, capture_output=True, timeout=300, check=False)
        resizing, _, array = done.stdout.partition(b"\n")
        anchors = np.load(io.BytesIO(array), allow_pickle=False)
    except (OSError, ValueError, EOFError, subprocess.TimeoutExpired):
        return None
    return resizing.decode("ascii", "replace"), anchors
