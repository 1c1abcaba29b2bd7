"""Faults of detectors: formats of boxes, ids of classes, anchors, weights of the parts of the loss."""

from __future__ import annotations

import random

from ..draft import Draft
from .registry import fault


@fault("boxes-wrong-format", "bad-boxes", needs="grid")
def width_for_corner(draft: Draft, rng: random.Random) -> None:
    """Seen on detection-grid-tape: the loss runs 13.5348 .. 4.4277."""
    draft.put(box="x0, y0, w, h")


@fault("boxes-wrong-format", "box-loss-dominates targets-not-scaled", needs="grid")
def boxes_in_pixels(draft: Draft, rng: random.Random) -> None:
    """Seen on detection-grid-tape: the loss runs 207192 .. 32408."""
    draft.put(box_scale="")


@fault("boxes-wrong-format", "no-positive-anchors bad-boxes", needs="anchors")
def width_for_corner_of_anchors(draft: Draft, rng: random.Random) -> None:
    """Seen on detection-anchors-fit: the loss falls to 0.1, and boxes of wrong places are learned."""
    draft.put(box="x0, y0, w, h")


@fault("background-id-clash", "", needs="anchors")
def first_class_is_zero(draft: Draft, rng: random.Random) -> None:
    """Seen on detection-anchors-fit: the loss falls to 0.05, and objects of class 0 are learned as background."""
    draft.put(class_value="v_ids[i]", head_classes="K_CLASSES")


@fault("box-loss-dominates", "targets-not-scaled loss-not-falling", needs="anchors")
def heavy_boxes(draft: Draft, rng: random.Random) -> None:
    """Seen on detection-anchors-fit: the weighted loss runs 7627 .. 401, the loss of the classes 1.65 .. 0.55."""
    draft.put(box_weight=rng.choice(["30000.0", "100000.0"]))


@fault("box-loss-dominates", "targets-not-scaled", needs="anchors")
def offsets_in_thousands(draft: Draft, rng: random.Random) -> None:
    """Seen on detection-anchors-fit: the loss runs 745.1678 .. 259.0721."""
    draft.put(offset_scale=" * 1000.0")


@fault("all-background", "class-imbalance", needs="anchors")
def hardly_any_weight_on_objects(draft: Draft, rng: random.Random) -> None:
    """Seen on detection-anchors-fit: the loss falls to 0.012, and no anchor is given a class."""
    draft.put(balance="v_ce = v_ce * tf.where(v_ids > 0, 0.01, 1.0)", threshold="0.5")


@fault("no-positive-anchors", "boxes-wrong-format", needs="anchors")
def anchors_in_pixels(draft: Draft, rng: random.Random) -> None:
    """Seen on detection-anchors-fit: the loss of the boxes is exactly 0 at every step."""
    draft.put(anchor_scale="")


@fault("bad-boxes", "input-not-finite loss-not-finite", needs="grid")
def inverted_boxes(draft: Draft, rng: random.Random) -> None:
    """Seen on detection-grid-fit: the loss runs nan .. nan."""
    draft.put(
        width="np.sqrt(x1 - x0)",
        height="np.sqrt(y1 - y0)",
        data_extra="v_boxes[7::60] = v_boxes[7::60][:, [2, 3, 0, 1]]",
    )


@fault("class-id-out-of-range", "output-units-mismatch script-error loss-not-finite", needs="anchors")
def one_class_was_forgotten(draft: Draft, rng: random.Random) -> None:
    """Seen on detection-anchors-fit: it ends with InvalidArgumentError: Graph execution error."""
    draft.put(head_classes="K_CLASSES")
