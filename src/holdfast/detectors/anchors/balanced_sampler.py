"""A random choice of anchors or regions, by seed, the same on every backend and in every micro-batch.

The random numbers are a hash of (the image's seed, the index), not a stream: an image draws the same
sample whether it is computed in a batch of eight or in a micro-batch of two, on TensorFlow or on JAX.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from keras import ops

from holdfast.detectors.ops.batched_gather import gather_rows

Tensor = Any


class SampledCandidates(NamedTuple):
    """`index` (b, k) into the candidates; what is not `chosen` is padding of the fixed size k."""

    index: Tensor
    positive: Tensor
    chosen: Tensor


def uniform(seeds_b: Tensor, count: int) -> Tensor:
    """(b, count) numbers in [0, 1), 24 bits each, from a 32-bit integer hash (Wellons' lowbias32)."""
    index = ops.cast(ops.arange(count, dtype="int32"), "uint32")[None, :]
    seeds = _hash(ops.cast(seeds_b, "uint32"))[:, None]
    bits = _hash(ops.bitwise_xor(index + _u32(0x9E3779B9), seeds))
    high_bits = ops.cast(ops.right_shift(bits, _u32(8)), "int32")
    return ops.cast(high_bits, "float32") * (1.0 / 16777216.0)


def seeds_for(images_b: Tensor, step: Tensor) -> Tensor:
    """One seed an image from its number in the dataset and the step: known before either is computed."""
    step = _hash(ops.cast(step, "uint32"))
    bits = _hash(ops.bitwise_xor(ops.cast(images_b, "uint32"), step))
    return ops.cast(ops.right_shift(bits, _u32(1)), "int32")


def sample(
    positive_bn: Tensor, negative_bn: Tensor, seeds_b: Tensor, *, size: int, positive_share: float
) -> SampledCandidates:
    """At most `size` candidates an image, at most that share of them positive, the rest negative."""
    count = positive_bn.shape[1]
    most_positive = min(int(size * positive_share), count)
    most_negative = min(size, count)
    chance = uniform(seeds_b, count)
    positive_chance, positive_index = ops.top_k(ops.where(positive_bn, chance, -1.0), most_positive)
    negative_chance, negative_index = ops.top_k(ops.where(negative_bn, chance, -1.0), most_negative)
    positives = ops.sum(ops.cast(positive_chance >= 0.0, "int32"), axis=1, keepdims=True)
    # The best come first, so the chosen are the first few of either list: positives, then negatives.
    place = ops.arange(min(size, most_positive + most_negative), dtype="int32")[None, :]
    from_positive = place < positives
    behind = ops.clip(most_positive + place - positives, 0, most_positive + most_negative - 1)
    pick = ops.where(from_positive, place, behind)
    chance = gather_rows(ops.concatenate([positive_chance, negative_chance], axis=1), pick)
    index = gather_rows(ops.concatenate([positive_index, negative_index], axis=1), pick)
    inside = most_positive + place - positives < most_positive + most_negative
    chosen = ops.logical_or(from_positive, ops.logical_and(chance >= 0.0, inside))
    return SampledCandidates(index=ops.cast(index, "int32"), positive=from_positive, chosen=chosen)


def _hash(x: Tensor) -> Tensor:
    x = ops.bitwise_xor(x, ops.right_shift(x, _u32(16))) * _u32(0x7FEB352D)
    x = ops.bitwise_xor(x, ops.right_shift(x, _u32(15))) * _u32(0x846CA68B)
    return ops.bitwise_xor(x, ops.right_shift(x, _u32(16)))


def _u32(value: int) -> Tensor:
    return ops.convert_to_tensor(value, dtype="uint32")
