"""Mistakes in a recipe. tests/settings has more of them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.errors.mistakes import Mistake, Mistakes, Printed, error_of, python, write

MISTAKES = Mistakes()


def recipe(*lines: str) -> None:
    write({"recipe.toml": '[data]\ntrain = "images"\n\n' + "\n".join(lines) + "\n"})


@MISTAKES.add("path-missing")
def recipe_missing() -> str:
    recipe()
    return "train recipes.toml"


@MISTAKES.add("not-a-file")
def recipe_is_a_folder() -> str:
    write({"recipe.toml/readme.md": ""})
    return "plan recipe.toml"


@MISTAKES.add("recipe-not-toml")
def recipe_without_quotes() -> str:
    recipe("[model]", "detector = retinanet")
    return "recipe recipe.toml"


@MISTAKES.add("unknown-setting")
def setting_misspelt() -> str:
    recipe("[train]", "bacth = 8")
    return "train recipe.toml"


@MISTAKES.add("unknown-setting")
def setting_misspelt_on_the_command_line() -> str:
    recipe()
    return "train recipe.toml --set train.learning_rat=0.01"


@MISTAKES.add("wrong-type")
def text_for_a_number() -> str:
    recipe("[train]", 'batch = "8"')
    return "train recipe.toml"


@MISTAKES.add("out-of-range")
def negative_learning_rate() -> str:
    recipe("[train]", "learning_rate = -0.1")
    return "lr-find recipe.toml"


@MISTAKES.add("setting-missing")
def recipe_without_data() -> str:
    write({"recipe.toml": "[train]\nbatch = 8\n"})
    return "train recipe.toml"


@MISTAKES.add("contradictory-settings")
def steps_and_epochs() -> str:
    recipe("[train]", "steps = 100", "epochs = 3")
    return "train recipe.toml"


@MISTAKES.add("contradictory-settings")
def batch_for_three_processes() -> str:
    recipe("[train]", 'backend = "jax"')
    return "launch recipe.toml --processes 3"


@MISTAKES.add("usage")
def group_without_launch() -> str:
    write({"images/readme.md": ""})
    recipe("[train]", 'backend = "jax"', "[hardware]", "processes = 2")
    return "train recipe.toml"


@MISTAKES.parametrize()
def test_the_error(
    mistake: Mistake, capfd: pytest.CaptureFixture[str], stored: Callable[[str, str], None]
) -> None:
    stored(f"errors/{mistake.name}", error_of(mistake, capfd))


HOT = Mistakes()


@HOT.add("too-few-devices")
def more_devices_than_there_are() -> Printed:
    """Where the CPU has not been split for a test, it is one device."""
    code = (
        "import sys\n"
        "from holdfast.errors import HoldfastError\n"
        "from holdfast.report.text import render_error\n"
        "from holdfast.step.jax_distributed import devices_of_processes\n"
        "try:\n    devices_of_processes(2)\n"
        "except HoldfastError as error:\n    sys.exit(render_error(error))\n"
    )
    return python("-c", code, environment={"JAX_PLATFORMS": "cpu", "XLA_FLAGS": "", "KERAS_BACKEND": "jax"})


@pytest.mark.hot
@HOT.parametrize()
def test_the_error_of_the_trainer(
    mistake: Mistake, capfd: pytest.CaptureFixture[str], stored: Callable[[str, str], None]
) -> None:
    stored(f"errors/{mistake.name}", error_of(mistake, capfd))
