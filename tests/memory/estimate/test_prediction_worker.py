"""The worker itself: a real step compiled for a GPU that is not here."""

from __future__ import annotations

import importlib.util

import pytest

from holdfast.memory import breakdown
from holdfast.memory.estimate import prediction_cache
from holdfast.memory.gpu_catalogue import gpu_named
from holdfast.memory.step_config import StepConfig

pytestmark = [
    pytest.mark.proof,
    pytest.mark.hot,
    pytest.mark.skipif(
        importlib.util.find_spec("jax_cuda13_plugin") is None, reason="the extra `plan` is not installed"
    ),
]

SETUP = StepConfig("ssd", "vgg16", 300, 3, 9, batch=2, micro_batch=2)


def test_a_step_for_two_images_takes_more_than_for_one_and_both_are_of_the_gpu():
    gpu = gpu_named("h200")
    one, two = prediction_cache.run_worker(SETUP, [(1, 1), (2, 2)], gpu)["answers"]
    assert one["weights"] == two["weights"] > 80 * 2**20
    assert one["state"] == 3 * one["weights"] + one["fixed"] + 16  # and four scalars
    # arguments: the state, the masks, the batch and three scalars, as counted; results: the state and the squares
    assert two["compiled"]["argument_bytes"] == pytest.approx(
        two["state"] + two["masks"] + two["batch"], rel=1e-3
    )
    assert two["compiled"]["temp_bytes"] > one["compiled"]["temp_bytes"] > one["weights"]
    made = breakdown.device_breakdown(two, gpu, method="compiled")
    assert made.fits(3 * 2**30) == "fits"
    assert made.fits(2**30) == "does-not-fit"
