"""Batch 16 of every real detector as 1×16, 2×8, 4×4 and 8×2: the same gradients, the same loss curve over 30 steps.

A deep detector with fresh weights amplifies what float32 rounds: at AdamW's usual rate one weight that is moved by its
last bit parts the curve as far within 30 steps as another micro-batch does (a per cent). So two things are compared: at
that rate every step from the same state, and at a rate that such a network bears the curves of four runs of their own.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.train import shapes

pytestmark = [pytest.mark.hot, pytest.mark.proof]

STEPS = 30
USUAL, GENTLE = 1e-3, 5e-6
RECIPE = (
    shapes.RECIPE
    + """
steps = 30
batch = 16
optimizer = "sgd"
deterministic = true
"""
)


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("detector", ["ssd", "retinanet", "faster-rcnn"])
def test_the_micro_batch_does_not_change_the_curve(
    detector: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole, batches = made(detector, tmp_path)
    split = {micro: whole.split(micro) for micro in (8, 4, 2)}
    start = whole.export()
    apart = {micro: steps_apart(whole, one, start, batches[:4]) for micro, one in split.items()}
    wanted = curve(whole, start, batches)
    curves = {micro: curve(one, start, batches) for micro, one in split.items()}
    off = {micro: float(np.abs(found / wanted - 1).max()) for micro, found in curves.items()}
    with capsys.disabled():
        print(
            f"\n{detector}: loss and gradient of one step apart {apart}; curves apart {off}; {wanted[[0, -1]]}"
        )
    assert wanted[-5:].mean() < wanted[:5].mean(), "it learns"
    assert max(loss for loss, _ in apart.values()) < 1e-5
    assert max(gradient for _, gradient in apart.values()) < 1e-3
    assert max(off.values()) < 1e-4


def made(detector: str, folder: Path) -> tuple[Any, list[dict[str, Any]]]:
    """The step of the whole batch, and the batches of all steps."""
    from holdfast.settings import read
    from holdfast.train import components

    data = json.dumps(str(shapes.write(folder / "shapes", 40)))
    (folder / "recipe.toml").write_text(RECIPE.format(data=data, detector=detector))
    recipe = read(folder / "recipe.toml")
    components.make_deterministic(recipe.train.seed)
    streams = components.build_data(recipe)
    model, _ = components.build_detector(recipe, streams.train.columns)
    step = components.build_step(components.build_network(model, recipe), recipe, 16)
    return step, [dict(batch) for _, batch in zip(range(STEPS), streams.train.batches(), strict=False)]


def taken(step: Any, number: int, batch: dict[str, Any], rate: float) -> float:
    from holdfast.train import schedules

    plan = schedules.Schedule("cosine", rate, STEPS, 3)
    found = step.fetch(
        step(batch, step=number, learning_rate=schedules.learning_rate_of(plan, number), frozen=False)
    )
    return float(found["loss"])


def curve(step: Any, start: Any, batches: list[dict[str, Any]]) -> np.ndarray:
    step.load(start)
    return np.array([taken(step, number, batch, GENTLE) for number, batch in enumerate(batches)])


def steps_apart(whole: Any, split: Any, start: Any, batches: list[dict[str, Any]]) -> tuple[float, float]:
    """How far loss and gradient of a step are apart, at most, along the way of the whole batch at the usual rate."""
    losses, gradients, state = [], [], start
    for number, batch in enumerate(batches):
        pairs = []
        for step in (split, whole):
            step.load(state)
            loss = taken(step, number, batch, USUAL)
            after = step.export()
            pairs.append((loss, momentum(after) - 0.9 * momentum(state), after))
        (part_loss, part, _), (loss, gradient, after) = pairs
        losses.append(abs(part_loss / loss - 1))
        gradients.append(float(np.linalg.norm(part - gradient) / np.linalg.norm(gradient)))
        state = after
    return max(losses), max(gradients)


def momentum(state: Any) -> np.ndarray:
    moments = [value for name, value in sorted(state["optimizer"].items()) if name.startswith("first/")]
    return np.concatenate([value.ravel().astype(np.float64) for value in moments])
