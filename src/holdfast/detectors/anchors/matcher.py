"""Which anchor answers for which box."""

from __future__ import annotations

from typing import Any, NamedTuple

import keras
from keras import ops

from holdfast.detectors.ops.boxes import on_grid, pairwise_iou, share_inside

Tensor = Any

HALF_STEP = 0.5 / 65536  # of the grid of overlaps: equal ones may be computed twice, with other last bits
TRIM_FROM_ROWS = 32  # places for boxes, from which on the empty ones are worth a choice


class Matches(NamedTuple):
    """For each anchor of each image: the box it answers for, and whether it does.

    Neither positive nor negative is "ignored": it trains no class and no box.
    """

    box_index: Tensor
    positive: Tensor
    negative: Tensor


def match(
    anchors: Tensor,
    boxes_bn4: Tensor,
    real_bn: Tensor,
    crowd_bn: Tensor,
    *,
    positive_from: float,
    negative_below: float,
    force: bool,
    with_ties: bool = False,
) -> Matches:
    """Match `anchors`, (a, 4) for all images or (b, a, 4) for each, with the boxes of each image.

    - at or above `positive_from` an anchor answers for the box it overlaps most;
    - below `negative_below` it is background; between the two it is ignored;
    - with `force` each box also gets the one anchor that overlaps it most, however little (but not 0);
      when two boxes claim one anchor, the box that overlaps it more has it; `with_ties`, as torchvision, every anchor
      that overlaps a box as much as its best does is matched, and each answers for the box that it overlaps most;
    - an anchor with half of itself inside a crowd region is never background: what is in there is not known.

    `real_bn` is False for padding. Crowd regions are not matched. Ties go to the lower index.
    """
    how = _Thresholds(positive_from, negative_below, force, with_ties)
    if len(anchors.shape) == 2:
        anchors = anchors[None]
    if keras.backend.backend() == "jax" and boxes_bn4.shape[1] >= TRIM_FROM_ROWS:
        return _match_first_rows(anchors, boxes_bn4, real_bn, crowd_bn, how)
    return _matched(anchors, boxes_bn4, real_bn, crowd_bn, how=how)


class _Thresholds(NamedTuple):
    positive_from: float
    negative_below: float
    force: bool
    with_ties: bool


def _match_first_rows(
    anchors: Tensor, boxes: Tensor, real: Tensor, crowd: Tensor, how: _Thresholds
) -> Matches:
    """Every anchor meets every box, so padding costs as much as boxes do: a quarter or half of the places is looked
    at, where nothing but padding follows in this batch."""
    import jax

    places = boxes.shape[1]
    sizes = [-(-places // 4), -(-places // 2), places]

    def first(size: int) -> Any:
        return lambda anchors, *parts: _matched(anchors, *(part[:, :size] for part in parts), how=how)

    used = ops.max(ops.where(real, ops.arange(1, places + 1, dtype="int32"), 0))
    choice = sum(ops.cast(used > size, "int32") for size in sizes[:-1])
    found: Matches = jax.lax.switch(choice, [first(size) for size in sizes], anchors, boxes, real, crowd)
    return found


def _matched(
    anchors: Tensor, boxes_bn4: Tensor, real_bn: Tensor, crowd_bn: Tensor, *, how: _Thresholds
) -> Matches:
    wanted = ops.logical_and(real_bn, ops.logical_not(crowd_bn))
    overlap = ops.where(wanted[:, None, :], on_grid(pairwise_iou(anchors, boxes_bn4)), -1.0)
    best = ops.max(overlap, axis=-1)
    box_index = ops.cast(ops.argmax(overlap, axis=-1), "int32")
    positive = best >= how.positive_from
    if how.force and how.with_ties:
        best_of_box = ops.max(overlap, axis=1, keepdims=True)
        tied = ops.logical_and(overlap >= best_of_box - HALF_STEP, best_of_box > 0.0)
        positive = ops.logical_or(positive, ops.any(tied, axis=-1))
    elif how.force:
        forced, forced_index = _forced_matches(overlap)
        box_index = ops.where(forced, forced_index, box_index)
        positive = ops.logical_or(positive, forced)
    in_crowd = _in_crowd(anchors, boxes_bn4, ops.logical_and(real_bn, crowd_bn))
    background = ops.logical_and(best < how.negative_below, ops.logical_not(positive))
    return Matches(box_index, positive, ops.logical_and(background, ops.logical_not(in_crowd)))


def _forced_matches(overlap_ban: Tensor) -> tuple[Tensor, Tensor]:
    # Found by the index of the best anchor, not by `overlap == best`: a compiler may compute the
    # overlap twice with different rounding, and then no anchor equals the best.
    best_anchor_bn = ops.cast(ops.argmax(overlap_ban, axis=1), "int32")
    best_overlap_bn = ops.max(overlap_ban, axis=1)
    boxes, anchors = overlap_ban.shape[2], overlap_ban.shape[1]
    claims = best_overlap_bn > 0.0
    # Of the boxes that claim one anchor the strongest has it: a comparison of boxes with boxes, not with anchors.
    order = ops.arange(boxes, dtype="int32")
    stronger = best_overlap_bn[:, None, :] > best_overlap_bn[:, :, None]
    earlier = ops.logical_and(
        best_overlap_bn[:, None, :] == best_overlap_bn[:, :, None], (order[None, :] < order[:, None])[None]
    )
    same = ops.logical_and(best_anchor_bn[:, None, :] == best_anchor_bn[:, :, None], claims[:, None, :])
    beaten = ops.any(ops.logical_and(same, ops.logical_or(stronger, earlier)), axis=-1)
    wins = ops.logical_and(claims, ops.logical_not(beaten))
    # Written by index; losers write to a place of their own behind the last anchor.
    batch = ops.shape(overlap_ban)[0]
    slots = anchors + boxes
    target = ops.where(wins, best_anchor_bn, anchors + order[None, :])
    target = target + ops.arange(batch, dtype="int32")[:, None] * slots
    owner = ops.scatter_update(
        ops.full((batch * slots,), -1, dtype="int32"),
        ops.reshape(target, (-1, 1)),
        ops.reshape(ops.where(wins, order[None, :], -1), (-1,)),
    )
    owner = ops.reshape(owner, (batch, slots))[:, :anchors]
    return owner >= 0, ops.maximum(owner, 0)


def _in_crowd(anchors: Tensor, boxes_bn4: Tensor, crowd_bn: Tensor) -> Tensor:
    inside = ops.where(crowd_bn[:, None, :], on_grid(share_inside(anchors, boxes_bn4)), 0.0)
    return ops.max(inside, axis=-1) >= 0.5
