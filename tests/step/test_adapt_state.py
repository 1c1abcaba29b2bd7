"""The saved state, adapted to a recipe that has changed since."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from holdfast.step.step_protocol import adapt_state

pytestmark = pytest.mark.hot


RECIPE = {"train.ema": 0.99, "train.precision": "float32"}


def groups(**more: Any) -> dict[str, dict[str, Any]]:
    optimizer = {
        "first/head": np.zeros(2, np.float32), "scale": np.float32(4096.0), "good": np.int32(7),
        "unapplied": np.int32(4),
    }  # fmt: skip
    weights = {"head": np.ones(2, np.float32), "statistics": np.full(2, 3, np.float32)}
    return {"weights": weights, "optimizer": optimizer, **more}


def test_an_average_that_is_begun_starts_at_the_weights_and_one_given_up_is_gone() -> None:
    begun = adapt_state(groups(), RECIPE | {"train.ema": 0.0}, RECIPE, unapplied=0)
    assert list(begun["ema"]) == ["head"]
    np.testing.assert_array_equal(begun["ema"]["head"], [1, 1])
    average = {"ema": {"head": np.full(2, 5, np.float32)}}
    kept = adapt_state(groups(**average), RECIPE, RECIPE, unapplied=0)
    np.testing.assert_array_equal(kept["ema"]["head"], [5, 5])
    assert "ema" not in adapt_state(groups(**average), RECIPE, RECIPE | {"train.ema": 0.0}, unapplied=0)


@pytest.mark.parametrize(
    "before, now, scale, good",
    [("float16", "float16", 4096, 7), ("float16", "float32", 1, 0), ("bfloat16", "float16", 2**15, 0)],
)
def test_the_loss_scale_is_that_of_the_precision(before: str, now: str, scale: int, good: int) -> None:
    made = adapt_state(
        groups(), RECIPE | {"train.precision": before}, RECIPE | {"train.precision": now}, unapplied=2
    )
    state = made["optimizer"]
    assert (state["scale"], state["good"], state["unapplied"]) == (scale, good, 2)
    assert [state[name].dtype for name in ("scale", "good", "unapplied")] == [np.float32, np.int32, np.int32]
