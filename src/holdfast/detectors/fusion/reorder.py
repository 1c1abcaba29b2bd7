"""The steps of a block in another order or layout, with the same result: less to compute, or faster to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from keras import layers, ops

from holdfast.detectors.fusion import vgg_stem
from holdfast.detectors.fusion.fold_batch_norm import folded_convolution
from holdfast.detectors.fusion.layer_graph import GraphOp, Name, on_jax, only_users
from holdfast.detectors.fusion.max_pool import max_pool, max_pool_pixel_pairs, max_pool_space_to_depth
from holdfast.detectors.fusion.stem_layouts import (
    MAX_INPUT_CHANNELS,
    can_pair_space_to_depth,
    paired_space_to_depth_conv,
)

Tensor = Any

PAIRED_PRECISIONS = ("bfloat16",)  # the precisions that `pairs` was measured in; set by tests


def relu_after_pool(steps: list[GraphOp]) -> list[GraphOp]:
    """The largest of the positive parts is the positive part of the largest: pooled first, a quarter is left to
    cut off, and what was before need not be kept. A bias is the same for all of a window, so it goes along; zeros
    padded between the two are cut off as well, and on JAX never looked at."""
    user = only_users(steps)
    changed: dict[Name, list[GraphOp]] = {}
    for step in (step for step in steps if step.kind in ("relu", "biased relu")):
        pool, pad = user.get(step.result), None
        if pool is not None and pool.kind == "pad":
            pad, pool = pool, user.get(pool.result)
        if pool is None or pool.kind != "pool" or (pad is not None and pool.of.padding != "valid"):
            continue
        around = ((0, 0), (0, 0)) if pad is None else tuple(map(tuple, pad.of.padding))
        run = pool.run if pad is None else _padded_pool(pool.of, around)
        pooled = pool._replace(
            run=run, sources=step.sources, result=("before relu", pool.result), of=(pool.of, around)
        )
        changed |= {
            step.result: [],
            pool.result: [pooled, step._replace(sources=(pooled.result,), result=pool.result)],
        }
        changed |= {} if pad is None else {pad.result: []}
    return [new for step in steps for new in changed.get(step.result, [step])]


def with_space_to_depth_stem(steps: list[GraphOp]) -> list[GraphOp]:
    """The first convolution and pooling of a ResNet, with two by two pixels in a cell between them."""
    uses = Counter(source for step in steps for source in step.sources)
    made = {step.result: step for step in steps}
    changed: dict[Name, GraphOp] = {}
    for step in steps:
        before = made.get(step.sources[0]) if step.kind == "pool" and isinstance(step.of, tuple) else None
        if not on_jax() or before is None or before.kind != "conv" or uses[before.result] > 1:
            continue
        (pool, around), (conv, norm) = step.of, before.of
        if (pool.pool_size[0], pool.strides[0], around) == (
            3,
            2,
            ((1, 1), (1, 1)),
        ) and can_pair_space_to_depth(conv):
            changed[before.result] = before._replace(
                run=folded_convolution(conv, norm, how=paired_space_to_depth_conv)
            )
            changed[step.result] = step._replace(run=max_pool_space_to_depth)
    return [changed.get(step.result, step) for step in steps]


def with_paired_vgg_stem(steps: list[GraphOp]) -> list[GraphOp]:
    """VGG's first two convolutions and its first pool, with two pixels in a cell between them."""
    if not on_jax():
        return steps
    user = only_users(steps)
    for first in steps:
        relu = user.get(first.result)
        second = None if relu is None else user.get(relu.result)
        pool = None if second is None else user.get(second.result)
        if pool is not None and _is_vgg_stem(first, relu, second, pool):
            return [new for step in steps for new in _paired_ops(step, first, relu, second, pool)]
    return steps


def _is_vgg_stem(first: GraphOp, relu: Any, second: Any, pool: GraphOp) -> bool:
    kinds = [step.kind for step in (first, relu, second, pool)]
    if kinds != ["conv", "biased relu", "conv", "pool"] or not isinstance(pool.of, tuple):
        return False
    convs = [step.of[0] for step in (first, second)]
    if not all(type(conv) is layers.Conv2D and vgg_stem.can_pair(conv) for conv in convs):
        return False
    if any(conv.compute_dtype not in PAIRED_PRECISIONS for conv in convs):
        return False
    layer, around = pool.of
    even = convs[0].input.shape[1] is not None and convs[0].input.shape[1] % 2 == 0
    windows = (layer.pool_size[0], layer.strides[0], around) == (2, 2, ((0, 0), (0, 0)))
    return windows and even and convs[0].input.shape[-1] <= MAX_INPUT_CHANNELS


def _paired_ops(step: GraphOp, first: GraphOp, relu: Any, second: Any, pool: GraphOp) -> list[GraphOp]:
    if step is first:
        return []
    (conv, norm), (then, then_norm) = first.of, second.of
    if step is relu:
        start = folded_convolution(
            conv, norm, how=lambda x, kernel: vgg_stem.first_convolution(x, kernel, relu.of())
        )
        return [relu._replace(run=start, sources=first.sources)]
    if step is second:
        return [second._replace(run=folded_convolution(then, then_norm, how=vgg_stem.second_convolution))]
    return [pool._replace(run=max_pool_pixel_pairs)] if step is pool else [step]


def _padded_pool(layer: Any, around: Any) -> Callable[[Tensor], Tensor]:
    window, stride = layer.pool_size[0], layer.strides[0]
    if on_jax():
        return lambda x: max_pool(x, window, stride, around)
    return lambda x: max_pool(ops.pad(x, ((0, 0), *around, (0, 0))), window, stride, "valid")
