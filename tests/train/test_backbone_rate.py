"""How fast a backbone moves, by where its weights are from."""

from __future__ import annotations

import pytest

from holdfast import settings

pytestmark = pytest.mark.hot


@pytest.mark.parametrize(
    ("overrides", "rate"),
    [
        ([], 1.0),
        (["model.weights=imagenet"], 0.1),
        (["model.weights=imagenet", "train.backbone_rate=1.0"], 1.0),
        (["train.backbone_rate=0.5"], 0.5),
    ],
)
def test_given_weights_move_at_a_tenth(overrides: list[str], rate: float) -> None:
    from holdfast.train import components

    recipe = settings.resolve({"data": {"train": "somewhere"}}, overrides)
    assert components.optimizer_config(recipe).held_rate == rate
