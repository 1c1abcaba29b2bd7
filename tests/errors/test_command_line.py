"""Mistakes on the command line."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from tests.errors.mistakes import Mistake, Mistakes, Printed, as_another_user, error_of, python, write

MISTAKES = Mistakes()


@MISTAKES.add("unknown-command")
def command_misspelt() -> str:
    return "trian recipe.toml"


@MISTAKES.add("unknown-command")
def run_forgotten() -> str:
    return "train.py --epochs 3"


@MISTAKES.add("unknown-option")
def option_misspelt() -> str:
    return "train recipe.toml --run-dri runs/a"


@MISTAKES.add("usage")
def command_to_watch_missing() -> str:
    return "run --name a"


@MISTAKES.add("usage")
def arguments_missing() -> str:
    return "export runs/a"


@MISTAKES.add("usage")
def choice_misspelt() -> str:
    return "run --on-stall stpo -- python train.py"


@MISTAKES.add("usage")
def override_without_a_table() -> str:
    return "recipe --set batch=16"


@MISTAKES.add("usage")
def script_instead_of_a_recipe() -> str:
    write({"train.py": "print(1)"})
    return "train train.py"


@MISTAKES.add("usage")
def run_folder_instead_of_data() -> str:
    write({"runs/a/journal.jsonl": "", "runs/a/recipe.toml": ""})
    return "check runs/a"


@MISTAKES.add("out-of-range")
def number_out_of_range() -> str:
    return "launch recipe.toml --processes 0"


@MISTAKES.add("command-not-found", hide={r"python[\d.]+": "python"})
def program_misspelt() -> str:
    return "run -- pythn train.py"


@MISTAKES.add("command-not-executable")
def program_not_executable() -> str:
    write({"train.sh": "python train.py\n"})
    return "run -- ./train.sh"


@MISTAKES.add("dependency-missing")
def package_missing() -> Printed:
    """What the minimal installation does not have."""
    return python(
        "-c",
        "import sys; sys.modules['numpy'] = None; from holdfast.cli.main import main; sys.exit(main(['check', 'd']))",
    )


@MISTAKES.add("disk-full")
def output_to_a_full_disk() -> Printed:
    full = os.open("/dev/full", os.O_WRONLY)
    try:
        return python("-m", "holdfast", "recipe", stdout=full)
    finally:
        os.close(full)


@MISTAKES.add(
    "error", hide={r"(?s)  found   .*?\n  change": "  found   [Errno 13] Permission denied\n  change"}
)
def control_group_not_allowed() -> str:
    as_another_user()
    return "demo --break oom"


@MISTAKES.parametrize()
def test_the_error(
    mistake: Mistake, capfd: pytest.CaptureFixture[str], stored: Callable[[str, str], None]
) -> None:
    stored(f"errors/{mistake.name}", error_of(mistake, capfd))
