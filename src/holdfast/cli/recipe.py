"""`holdfast recipe`: the commented example, or one recipe checked and resolved."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict

from holdfast.errors import ExitCode


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("recipe", nargs="?", help="a recipe to check and print with every default filled in")
    add_overrides(parser)
    parser.add_argument("--json", action="store_true", help="print the resolved recipe as JSON")


def add_overrides(parser: argparse.ArgumentParser) -> None:
    """The option of every command that reads a recipe."""
    parser.add_argument(
        "--set", dest="overrides", metavar="KEY=VALUE", action="append", default=[],
        help="change one setting, as in --set train.batch=16, or leave it out: --set model.weights=",
    )  # fmt: skip


def run(args: argparse.Namespace) -> int:
    from holdfast import settings

    if args.recipe is None and not args.overrides:
        print(settings.example(), end="")
        return ExitCode.FINE
    example = {"data": {"train": "data/train"}}  # to be written over, as in the commented one
    recipe = (
        settings.read(args.recipe, args.overrides)
        if args.recipe
        else settings.resolve(example, args.overrides)
    )
    print(
        json.dumps(asdict(recipe)) if args.json else settings.to_toml(recipe), end="\n" if args.json else ""
    )
    return ExitCode.FINE
