"""A plan for a GPU of 8 GiB, from a prediction that the tests can compute in their heads."""

from __future__ import annotations

from dataclasses import replace

from holdfast.memory import choose_micro_batch
from holdfast.memory.breakdown import METHODS, MemoryBreakdown, MemoryItem
from holdfast.memory.measured_peak import DeviceLimit
from holdfast.settings import resolve

GIB = 2**30
LIMIT = DeviceLimit("NVIDIA H200", 8 * GIB)


def recipe(**train):
    return resolve({"data": {"train": "there"}, "train": {"batch": 16, "backend": "jax", **train}}, [])


def estimate(config, sizes):
    """A gigabyte, and half of one for each image; more outside the allocator's pool."""
    sure = replace(METHODS["compiled"], low_factor=1.0, high_factor=1.0, extra_bytes=0)
    totals = [GIB + size * GIB // 2 for size in sizes]
    return [MemoryBreakdown((MemoryItem("all", total, "counted"),), sure, total, 5 * GIB) for total in totals]


def planned(limit=LIMIT, estimate=estimate, **train):
    return choose_micro_batch.plan_for_training(
        recipe(**train), classes=3, max_boxes=9, limit=limit, estimate=estimate
    )
