"""`holdfast check`: finds problems in a dataset, or in what a recipe names, before training."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.cli.arguments import add_workers, positive
from holdfast.cli.recipes import refuse_script_or_run, with_absolute_paths, with_found_paths
from holdfast.cli.slow_notice import notice_if_slow
from holdfast.data.formats import FORMATS
from holdfast.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from holdfast.data.checking.dataset_check import Report
    from holdfast.data.checking.statistics import DatasetStatistics
    from holdfast.settings.recipe import Recipe


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "path", help="a folder, an annotation file, a TFRecord glob, a URL, or a recipe (.toml)"
    )
    parser.add_argument("--format", choices=FORMATS, help="the format of the data (default: detected)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--no-cache", action="store_true", help="decode every image again")
    add_workers(parser, "what decodes the images", alias=True)
    parser.add_argument(
        "--step-speed", type=positive("images per second", such_as="120"), metavar="IMAGES_PER_S",
        help="recipe only: how many images per second a training step can use, to check whether it would wait for data",
    )  # fmt: skip
    parser.add_argument(
        "--no-speed", action="store_true", help="recipe only: do not measure the data loading speed"
    )
    parser.add_argument(
        "--lr", action="store_true", help="recipe only: also run the LR range test (`holdfast lr-find`)"
    )


def run(args: argparse.Namespace) -> int:
    from holdfast.data.checking.check_text import as_text
    from holdfast.data.checking.dataset_check import DatasetPart, check
    from holdfast.data.workers import worker_choice

    refuse_script_or_run(args.path)
    recipe = _recipe(args.path)
    if recipe is None and args.lr:
        raise UsageError(
            "--lr needs a recipe, and this path is data",
            where=args.path,
            change=f"holdfast lr-find {args.path} tests the default recipe; or give check a recipe (.toml)",
        )
    parts = [DatasetPart(args.path, format=args.format)]
    classes: list[str] = []
    if recipe is not None:
        parts = [DatasetPart(recipe.data.train, "train" if recipe.data.validation else None, args.format)]
        parts += (
            [DatasetPart(recipe.data.validation, "validation", args.format)] if recipe.data.validation else []
        )
        classes = recipe.data.classes or []
    paths = [part.path for part in parts]
    with (
        notice_if_slow(f"reading {' and '.join(paths)} and decoding every image"),
        worker_choice.using(args.workers, reads=paths),
    ):
        report, census = check(parts, classes=classes, use_cache=not args.no_cache)
    if recipe is not None:
        report = _with_settings(report, census, Path(args.path), recipe)
        report = _with_rate(report, Path(args.path), recipe, now=args.lr)
        if not args.no_speed and not report.spoiled:  # unreadable data cannot be timed
            with notice_if_slow("measuring the data loading speed"):
                report = _with_speed(report, args.path, args.step_speed)
        with notice_if_slow("checking the buckets"):
            report = _with_cloud(report, recipe)
    if args.json:
        print(json.dumps(report.as_json(), ensure_ascii=False))
    else:
        print(as_text(report, colour=sys.stdout.isatty()))
    return ExitCode.FINDINGS if report.spoiled else ExitCode.FINE


def _recipe(path: str) -> Recipe | None:
    """The recipe, when the path is one; its paths stay as they were written, for display."""
    from holdfast import settings

    return with_found_paths(settings.read(path), Path(path).parent) if path.endswith(".toml") else None


def _with_settings(report: Report, census: DatasetStatistics, path: Path, recipe: Recipe) -> Report:
    """The report, with settings that keep this recipe from learning this data."""
    from holdfast.cli import recipe_findings
    from holdfast.data.checking.dataset_check import with_findings

    written = recipe_findings.WrittenRecipe.of(path, recipe)
    findings = recipe_findings.of_settings(written, census.training_images)
    with notice_if_slow("measuring which boxes the anchors cover"):
        findings += recipe_findings.of_anchors(written, census)
    return with_findings(report, findings)


def _with_cloud(report: Report, recipe: Recipe) -> Report:
    """The report, with problems of the buckets that the recipe or the environment names."""
    from holdfast.data.checking.dataset_check import with_problem
    from holdfast.launch.jobs import cloud_check

    for problem in cloud_check.problems(recipe, os.environ):
        report = with_problem(report, problem)
    return report


def _with_rate(report: Report, path: Path, recipe: Recipe, *, now: bool) -> Report:
    """The report, with a learning rate far from what a range test suggests: one run now, or stored earlier."""
    from holdfast.cli import lr_suggestion
    from holdfast.data.checking.dataset_check import with_problem
    from holdfast.data.dataset_reader import Problem
    from holdfast.train.lr_range import range_test

    if now:
        placed = with_absolute_paths(recipe, path.parent)
        lr_suggestion.store(path, lr_suggestion.measure(placed, steps=lr_suggestion.STEPS))
    suggested = lr_suggestion.suggested_for(path, recipe)
    detail = range_test.learning_rate_verdict(recipe.train.learning_rate, suggested) if suggested else ""
    return with_problem(report, Problem("learning-rate-far", str(path), detail)) if detail else report


def _with_speed(report: Report, path: str, step_images_per_s: float | None) -> Report:
    """The report, with the data loading speed, and whether training would wait for data."""
    from dataclasses import replace

    from holdfast.cli.data_speed import measure_data_speed
    from holdfast.data.findings import RANK

    findings = (*report.findings, *measure_data_speed(path, step_images_per_s))
    return replace(report, findings=tuple(sorted(findings, key=lambda finding: RANK[finding.severity])))
