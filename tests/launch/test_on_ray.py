"""Training on Ray where there is no Ray. With one: `make proof-ray`."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from holdfast.cli.main import main
from holdfast.data.synthetic import make_dataset
from holdfast.launch import on_ray
from tests.cli.test_ray_launch import RECIPE


@pytest.fixture
def recipe(tmp_path: Path) -> str:
    make_dataset(tmp_path / "images", count=2, side=64)
    (tmp_path / "recipe.toml").write_text(RECIPE)
    return str(tmp_path / "recipe.toml")


def test_fewer_processes_only_where_a_place_is_missing_for_long() -> None:
    seen = iter([True, True, False, False, True, False, False, False])
    times = iter([60.0, 60.0, 79.0, 90.0, 90.0, 109.0, 110.0])  # asked for only where something is missing
    missing = on_ray.missing_for(20.0, there=lambda: next(seen), clock=lambda: next(times))
    assert [missing() for _ in range(8)] == [False] * 7 + [True]


def test_without_ray_nothing_has_begun(
    recipe: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)  # as where it is not installed
    assert main(["launch", recipe, "--on", "ray", "--run-dir", str(tmp_path / "run")]) == 2
    assert capsys.readouterr().err == (
        "error[dependency-missing]: working on a Ray cluster needs ray, which is not\n"
        "  installed\n"
        '  change  pip install "holdfast[ray]"\n'
    )
    assert not (tmp_path / "run").exists()
