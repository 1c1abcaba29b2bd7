"""`holdfast lr-find RECIPE_OR_DATA`: which learning rate the network bears, by a range test on a copy."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from holdfast.errors import ExitCode


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", metavar="RECIPE_OR_DATA", help="a recipe (.toml), or data to train on")
    parser.add_argument("--set", dest="overrides", metavar="KEY=VALUE", action="append", default=[],
                        help="change one setting, as in --set train.batch=16; may be given again")  # fmt: skip
    parser.add_argument("--steps", type=int, default=100, metavar="N", help="of the test (default 100)")
    parser.add_argument("--json", action="store_true", help="print the points and the suggestion as JSON")


def run(args: argparse.Namespace) -> int:
    from holdfast import settings
    from holdfast.cli.train import _recipe
    from holdfast.train import range_test

    recipe = _recipe(args.source, args.overrides)
    with tempfile.TemporaryDirectory(prefix="holdfast-lr-find-") as folder:
        Path(folder, "recipe.toml").write_text(settings.to_toml(recipe))
        command = [sys.executable, "-m", "holdfast.train.lr_find", folder, str(args.steps)]
        code = subprocess.run(command).returncode
        if code:
            return code
        found = json.loads(Path(folder, "lr_find.json").read_text())
    seen = range_test.points(found["rates"], found["losses"])
    suggestion = range_test.suggest(seen, batch=recipe.train.batch)
    if args.json:
        print(json.dumps({"suggestion": suggestion.rate, "why": suggestion.why, **found}))
    else:
        print(range_test.plot(seen))
        print(f"\ntrain.learning_rate = {suggestion.rate}" if suggestion.rate else "\nno suggestion")
        print(suggestion.why)
        if suggestion.rate:
            print(f"the recipe has {recipe.train.learning_rate:g}")
    return ExitCode.FINE if suggestion.rate is not None else ExitCode.FINDINGS
