"""The worker itself: a real step compiled for a GPU that is not here."""

from __future__ import annotations

import importlib.util

import pytest

from holdfast.memory import breakdown
from holdfast.memory.breakdown import METHODS
from holdfast.memory.estimate import prediction_cache
from holdfast.memory.estimate.estimators import GpuEstimator
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


def test_that_a_batch_surely_fits_is_known_before_the_step_is_compiled(tmp_path):
    order = []
    cache = prediction_cache.PredictionCache(tmp_path)
    estimate = GpuEstimator(
        gpu_named("h200"), cache, on_liveness=lambda sizes, early: order.append((sizes, early))
    )
    (compiled,) = estimate(SETUP, [2])
    ((sizes, early),) = order
    assert sizes == (2, 2)
    assert (early.method.name, compiled.method.name) == (METHODS["liveness"].name, METHODS["compiled"].name)
    assert early.lower_step_bytes < compiled.step_peak_bytes < early.upper_step_bytes
    again = GpuEstimator(gpu_named("h200"), cache, on_liveness=lambda *_: order.append("compiled again"))
    assert again(SETUP, [2])[0] == compiled  # from the cache, at once
    assert len(order) == 1
