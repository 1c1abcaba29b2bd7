"""The micro-batch that training uses, and the prediction that it is compared with."""

from __future__ import annotations

from holdfast.errors import HoldfastError

from .planned import GIB, planned


def test_auto_takes_the_largest_micro_batch_that_fits_the_pool():
    made = planned()
    # the context is outside the pool and is not counted
    assert (made.micro_batch, made.predicted_bytes) == (8, 5 * GIB)
    assert made.message == (
        "micro-batches of 8 will take 5.00 GiB of 8.00 GiB on the NVIDIA H200 "
        "(method: compiled for the GPU ahead of time)"
    )


def test_a_number_stays_and_is_predicted_all_the_same():
    made = planned(micro_batch=4)
    assert (made.micro_batch, made.predicted_bytes) == (None, 3 * GIB)


def test_without_a_gpu_nothing_is_planned():
    made = planned(limit=None)
    assert (made.micro_batch, made.predicted_bytes, made.message) == (None, None, "")


def test_a_prediction_that_cannot_be_made_never_stops_a_run():
    def broken(setup, sizes):
        raise HoldfastError("jax is not installed")

    made = planned(estimate=broken)
    assert made.micro_batch is None
    assert made.message == "the memory of a step could not be predicted: jax is not installed"
