"""Weights that anybody can make again, by a tensor's name alone, with statistics like those of a trained detector.

Convolutions keep the variance of what they are given, normalisations are near the identity, residual branches are
weak, and heads are scaled so that scores spread and some are high.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping

import numpy as np

#: Factors on the weights of heads, and what is added to the background's bias or to every class's.
_SOFTMAX, _FOREGROUND = 1.0, 3.0
MOBILENET_CHANNELS = (160, 960)  # whose features are small with these weights
RETINANET, RETINANET_NORM = (
    f"head.classification_head.{end}" for end in ("cls_logits.weight", "conv.0.1.weight")
)
RESIDUAL_ENDS = re.compile(r"(bn3|block\.[23]\.1)\.weight$")


def make(shapes: Mapping[str, tuple[int, ...]]) -> dict[str, np.ndarray]:
    made = {name: _tensor(name, shape) for name, shape in shapes.items()}
    if RETINANET in made and RETINANET_NORM not in made:  # otherwise thousands of scores are exactly 1
        made[RETINANET] *= 0.3
    return made


def _tensor(name: str, shape: tuple[int, ...]) -> np.ndarray:
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    draw = rng.standard_normal(shape)
    if name.endswith("running_var"):
        made = np.exp(0.2 * draw)
    elif name.endswith("running_mean"):
        made = 0.1 * draw
    elif name.endswith("scale_weight"):
        made = 20.0 + draw
    elif len(shape) == 1 and name.endswith("weight"):
        made = (1.0 + 0.1 * draw) * (0.3 if RESIDUAL_ENDS.search(name) else 1.0)
    elif len(shape) == 1:
        made = 0.05 * draw + _prior(name, shape[0])
    else:
        fan_in = int(np.prod(shape[1:]))
        made = draw * np.sqrt(_gain(name) / fan_in)
        if "fpn.inner_blocks" in name and fan_in in MOBILENET_CHANNELS:
            made *= 12.0
    return made.astype(np.float32)


def _gain(name: str) -> float:
    """Variance of an output over that of an input: 2 before a ReLU."""
    for pattern, gain in _GAINS:
        if re.search(pattern, name):
            return gain
    return 2.0


_GAINS = (
    (r"backbone\.features\.0\.weight$", 4e-4),  # SSD300's images are in grey levels
    (r"regression_head\.module_list|box_predictor\.bbox_pred", 0.3),
    (r"regression_head\.bbox_reg|rpn\.head\.bbox_pred", 0.02),
    (r"classification_head\.module_list|classification_head\.cls_logits|box_predictor\.cls_score", 3.0),
    (r"rpn\.head\.cls_logits", 3.0),
    (r"fpn\.", 0.7),
)


def _prior(name: str, length: int) -> np.ndarray | float:
    if "classification_head.cls_logits.bias" in name:
        return -5.0
    if name == "roi_heads.box_predictor.cls_score.bias" or "classification_head.module_list" in name:
        first = np.zeros(length)
        first[:: 91 if length % 91 == 0 else length] = 3.0
        return first
    return 0.0
