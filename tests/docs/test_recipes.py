"""The recipes in recipes/ can be followed by somebody who has nothing but the repository and a network."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from holdfast import settings
from holdfast.data.reading.load import read
from tests.docs.blocks import ROOT

RECIPES = sorted((ROOT / "recipes").glob("*.toml"))


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.name)
def test_a_recipe_resolves_and_says_where_its_data_come_from(path: Path) -> None:
    recipe = settings.read(path, [])
    assert not Path(recipe.data.train).is_absolute()
    assert ".." not in Path(recipe.data.train).parts
    comments = [line for line in path.read_text().splitlines() if line.startswith("#")]
    assert any(line.startswith("# Data: ") for line in comments)
    assert any(line.startswith(("# Measured 20", "# Not measured: ")) for line in comments)


def test_the_drawn_shapes_are_where_the_recipes_look_for_them(tmp_path: Path) -> None:
    script = ROOT / "recipes" / "make_shapes.py"
    subprocess.run([sys.executable, script, "shapes"], cwd=tmp_path, check=True)
    data = settings.read(ROOT / "recipes" / "cpu-shapes.toml", []).data
    assert len(read(str(tmp_path / data.train)).records) == 240
    assert len(read(str(tmp_path / str(data.validation))).records) == 48
