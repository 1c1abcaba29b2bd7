"""Batch 16 of every real detector as 1×16, 2×8, 4×4 and 8×2: the same loss curve over 30 steps."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.train import shapes

pytestmark = [pytest.mark.hot, pytest.mark.proof]

RECIPE = (
    shapes.RECIPE
    + """
steps = 30
batch = 16
deterministic = true
"""
)


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("detector", ["ssd", "retinanet", "faster-rcnn"])
def test_the_micro_batch_does_not_change_the_curve(detector: str, tmp_path: Path) -> None:
    data = json.dumps(str(shapes.write(tmp_path / "shapes", 40)))
    curves = {
        micro: curve(RECIPE.format(data=data, detector=detector), micro, tmp_path) for micro in (16, 8, 4, 2)
    }
    assert curves[16][-5:].mean() < curves[16][:5].mean(), "it learns"
    for micro in (8, 4, 2):
        np.testing.assert_allclose(curves[micro], curves[16], rtol=1e-4)


def curve(recipe_text: str, micro: int, folder: Path) -> np.ndarray:
    from holdfast.settings import read
    from holdfast.train import assemble, schedules

    path = folder / f"{micro}.toml"
    path.write_text(recipe_text)
    recipe = read(path)
    assemble.deterministic(recipe.train.seed)
    streams = assemble.data(recipe)
    model, _ = assemble.detector(recipe, streams.train.columns)
    step = assemble.step(assemble.network(model, recipe), recipe, micro)
    plan = schedules.Schedule("cosine", recipe.train.learning_rate, 30, 3)
    losses = [
        step.fetch(step(batch, step=number, rate=schedules.rate(plan, number), held=False))["loss"]
        for number, batch in zip(range(30), streams.train.batches(), strict=False)
    ]
    return np.array(losses)
