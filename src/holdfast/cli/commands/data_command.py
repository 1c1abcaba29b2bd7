"""`holdfast data …`: convert, repair, inspect or pack a dataset; `holdfast.cli.data` has a module for each."""

from __future__ import annotations

import argparse

from holdfast.cli.data import convert_command, inspect_command, pack_command, repair_command

#: Every action that works, in the order of the help.
ACTIONS = {
    "convert": (convert_command, "write the dataset in another format"),
    "repair": (repair_command, "write a cleaned copy, and a list of what was changed or left out"),
    "inspect": (inspect_command, "write one HTML page of images, tables and plots"),
    "pack": (pack_command, "make small copies of images far larger than a recipe needs, for faster training"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="|".join(ACTIONS))
    for name, (module, text) in ACTIONS.items():
        module.add_arguments(actions.add_parser(name, help=text))


def run(args: argparse.Namespace) -> int:
    module, _ = ACTIONS[args.action]
    return int(module.run(args))
