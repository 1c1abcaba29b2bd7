"""Heads that have numbers for each class: which they are, and how a class's numbers move to another list of classes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Values = NDArray[Any]

#: Names of the weights that have numbers for each class: its scores, and its own boxes.
_SCORES = re.compile(
    r"class_out(_\d+)?/(out/)?(pointwise_kernel|kernel|bias)$"
    r"|classification_head\.(module_list\.\d+(\.1)?|cls_logits)/out/|box_predictor\.cls_score/"
)
_BOXES = re.compile(r"region_head/box_out/|box_predictor\.bbox_pred/")


def is_class_head(path: str) -> bool:
    return bool(_SCORES.search(path) or _BOXES.search(path))


def head_width(path: str, width: int, old: int, new: int, *, background: bool) -> int:
    """How wide the last axis of a head is for `old` classes that is `width` wide for `new` ones."""
    extra = int(background and not _BOXES.search(path))
    return width // (new + extra) * (old + extra)


def carry_classes(
    path: str,
    stored: Values,
    fresh: Values,
    old: Sequence[str],
    new: Sequence[str],
    *,
    background: bool,
) -> Values | None:
    """The fresh head with the numbers of each class of `new` that `stored` has, by its name, and of the background.

    None where the two heads do not have the same form, or no name is in both.
    """
    shared = [name for name in new if name in old]
    if not shared or stored.shape[:-1] != fresh.shape[:-1]:
        return None
    if stored.shape[-1] != head_width(path, fresh.shape[-1], len(old), len(new), background=background):
        return None
    with_background = background and not _BOXES.search(path)
    extra = int(with_background)
    before, after = _by_class(path, stored, len(old) + extra), _by_class(path, fresh, len(new) + extra).copy()
    for name in shared:
        after[..., list(new).index(name), :] = before[..., list(old).index(name), :]
    if with_background:
        after[..., -1, :] = before[..., -1, :]
    return np.asarray(after).reshape(fresh.shape)


def _by_class(path: str, values: Values, classes: int) -> Values:
    """(…, anchors, classes, numbers a class)."""
    if _BOXES.search(path):
        return values.reshape(*values.shape[:-1], 1, classes, -1)
    return values.reshape(*values.shape[:-1], -1, classes, 1)
