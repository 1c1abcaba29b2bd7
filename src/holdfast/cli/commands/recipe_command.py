"""`holdfast recipe`: prints the commented example, or checks and resolves one recipe."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict

from holdfast.cli.arguments import add_overrides
from holdfast.errors import ExitCode


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "recipe", nargs="?", help="a recipe to check, and to print with all defaults filled in"
    )
    add_overrides(parser)
    parser.add_argument("--json", action="store_true", help="print the resolved recipe as JSON")


def run(args: argparse.Namespace) -> int:
    from holdfast import settings

    if args.recipe is None and not args.overrides:
        print(settings.example(), end="")
        return ExitCode.FINE
    example = {"data": {"train": "data/train"}}  # a placeholder, as in the commented example
    recipe = (
        settings.read(args.recipe, args.overrides)
        if args.recipe
        else settings.resolve(example, args.overrides)
    )
    print(
        json.dumps(asdict(recipe)) if args.json else settings.to_toml(recipe), end="\n" if args.json else ""
    )
    return ExitCode.FINE
