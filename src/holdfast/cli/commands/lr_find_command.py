"""`holdfast lr-find RECIPE_OR_DATA`: finds a learning rate by an LR range test on a copy of the network."""

from __future__ import annotations

import argparse
import json
import math
import sys
from pathlib import Path
from typing import Any

from holdfast.cli.arguments import add_overrides, integer
from holdfast.cli.lr_suggestion import MIN_STEPS, STEPS, measure, store, stored_at
from holdfast.cli.recipes import refuse_missing_data, resolve_recipe
from holdfast.errors import ExitCode
from holdfast.settings.installed_backend import require_backend


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", metavar="RECIPE_OR_DATA", help="a recipe (.toml), or data to train on")
    add_overrides(parser)
    parser.add_argument(
        "--steps",
        type=integer(MIN_STEPS, such_as=STEPS),
        default=STEPS,
        metavar="N",
        help=f"length of the test (default: {STEPS})",
    )
    parser.add_argument("--json", action="store_true", help="print the points and the suggestion as JSON")


def run(args: argparse.Namespace) -> int:
    recipe = resolve_recipe(args.source, args.overrides)
    refuse_missing_data(recipe, args.source, args.overrides)
    require_backend(recipe.train.backend)
    found = measure(recipe, steps=args.steps)
    stored = Path(args.source) if args.source.endswith(".toml") else None
    if stored is not None:
        store(stored, found)
    if args.json:
        losses = [loss if math.isfinite(loss) else None for loss in found["losses"]]
        print(json.dumps({**found, "losses": losses}))
    else:
        _print(found, recipe.train.learning_rate, stored)
    return ExitCode.FINE if found["suggestion"] is not None else ExitCode.FINDINGS


def _print(found: dict[str, Any], current: float, stored: Path | None) -> None:
    from holdfast.report.text import terminal_width, wrap
    from holdfast.train.lr_range import range_test

    marks = {"suggested": found["suggestion"] or 0.0, "the recipe's": current}
    print(range_test.plot(range_test.points(found["rates"], found["losses"]), marks=marks))
    print(f"\ntrain.learning_rate = {found['suggestion']:g}" if found["suggestion"] else "\nno suggestion")
    print("\n".join(wrap(found["why"], width=terminal_width(sys.stdout))))
    if stored is not None:
        print(f"stored in {stored_at(stored)}, where `holdfast check` reads it")
