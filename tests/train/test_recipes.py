"""Every recipe that is handed out can be read, and says what to expect of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast import settings

RECIPES = sorted((Path(__file__).parent.parent.parent / "recipes").glob("*.toml"))


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_a_recipe_can_be_read(path: Path) -> None:
    assert settings.read(path).model.detector in ("ssd", "retinanet", "faster-rcnn")


def test_there_is_one_for_each_detector_on_a_cpu_and_on_a_gpu() -> None:
    found = {
        (path.stem.split("-")[0], settings.read(path).model.detector)
        for path in RECIPES
        if path.stem.startswith(("cpu-", "gpu-"))
    }
    assert found == {
        (where, which) for where in ("cpu", "gpu") for which in ("ssd", "retinanet", "faster-rcnn")
    }
