"""The search for the micro-batch, with made-up estimates."""

from __future__ import annotations

from dataclasses import replace

from holdfast.memory.breakdown import METHODS, MemoryBreakdown, MemoryItem
from holdfast.memory.micro_batch_search import divisors, largest_micro_batch

SURE = replace(METHODS["compiled"], low_factor=1.0, high_factor=1.0, extra_bytes=0)


class Estimates:
    """`base` bytes and `each` per image; records the micro-batches that were estimated."""

    def __init__(self, base=100, each=10, odd=None):
        self.base, self.each, self.odd, self.asked = base, each, odd or {}, []

    def __call__(self, sizes):
        self.asked += sizes
        totals = [self.odd.get(size, self.base + self.each * size) for size in sizes]
        return [MemoryBreakdown((MemoryItem("all", total, "counted"),), SURE, total, 0) for total in totals]


def test_micro_batches_divide_the_batch():
    assert divisors(24) == [1, 2, 3, 4, 6, 8, 12, 24]


def test_a_batch_that_fits_is_estimated_once():
    estimates = Estimates()
    assert largest_micro_batch(24, 1000, estimates).micro_batch == 24
    assert estimates.asked == [24]
    assert largest_micro_batch(1, 105, Estimates()).micro_batch is None


def test_two_give_the_line_and_the_chosen_one_is_estimated_itself():
    estimates = Estimates()
    found = largest_micro_batch(24, 230, estimates)
    assert (found.micro_batch, found.breakdown.total_bytes) == (12, 220)
    assert estimates.asked == [24, 1, 12]


def test_what_leaves_the_line_upwards_is_stepped_down_from():
    found = largest_micro_batch(24, 230, Estimates(odd={12: 250}))
    assert found.micro_batch == 8


def test_what_leaves_it_downwards_is_looked_at_when_near():
    found = largest_micro_batch(24, 336, Estimates(odd={24: 330}))
    assert found.micro_batch == 24


def test_one_image_that_does_not_fit_is_reported_with_its_size():
    found = largest_micro_batch(24, 105, Estimates())
    assert found.micro_batch is None
    assert found.breakdown.total_bytes == 110


def test_a_prime_batch_is_one_by_one_or_full():
    assert largest_micro_batch(13, 10_000, Estimates()).micro_batch == 13
    assert largest_micro_batch(13, 120, Estimates()).micro_batch == 1
