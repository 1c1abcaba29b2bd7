"""`holdfast completion SHELL`: prints the script that completes commands, options and their values in a shell."""

from __future__ import annotations

import argparse

from holdfast.errors import ExitCode

SHELLS = ("bash", "zsh", "fish")
_DESCRIPTION = """\
Prints a script that completes commands, options and their values. It is made from the commands themselves; print it
again after an update.

  bash   echo 'eval "$(holdfast completion bash)"' >> ~/.bashrc
  zsh    echo 'eval "$(holdfast completion zsh)"' >> ~/.zshrc        (after compinit)
  fish   holdfast completion fish > ~/.config/fish/completions/holdfast.fish"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = _DESCRIPTION
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("shell", choices=SHELLS, help="the shell")


def run(args: argparse.Namespace) -> int:
    from holdfast.cli.setup import completion_scripts

    print(completion_scripts.script(args.shell, completion_scripts.described_commands()), end="")
    return ExitCode.FINE
