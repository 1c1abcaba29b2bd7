"""How far the two sides are apart: outputs, detections and losses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Answers = dict[str, NDArray[Any]]

RAW, SCORES, LEAST_IOU, LOSS, REGION_PIXELS = 1e-4, 1e-4, 0.999, 1e-4, 0.05
LOSSES = {
    "classification": "Loss.classification_loss", "localization": "Loss.localization_loss",
    "rpn_objectness": "Loss.RPNLoss.objectness_loss", "rpn_localization": "Loss.RPNLoss.localization_loss",
}  # fmt: skip
REGION_LOSSES = {
    "classification": "Loss.BoxClassifierLoss.classification_loss",
    "localization": "Loss.BoxClassifierLoss.localization_loss",
}


@dataclass(frozen=True)
class Agreement:
    """`raw` is relative to the largest output; `unpaired` detections have no partner in the other answer."""

    raw: float
    detections: int
    unpaired: int
    least_iou: float
    scores: float
    losses: float
    tied: int  # images whose losses are left out: two anchors fit one of their boxes equally well
    regions_apart: int | None  # of either side, without one of the other within a twentieth of a pixel

    @property
    def good(self) -> bool:
        near = self.raw <= RAW and self.scores <= SCORES and self.losses <= LOSS
        return near and self.unpaired == 0 and not self.regions_apart and self.least_iou > LEAST_IOU


def compare(api: Answers, ours: Answers, boxes: NDArray[Any], size: tuple[int, int]) -> Agreement:
    two_stages = "rpn_box_encodings" in api
    paired = [pair(api, ours, index, size) for index in range(len(ours["scores"]))]
    names = {**LOSSES, **REGION_LOSSES} if two_stages else {name: LOSSES[name] for name in REGION_LOSSES}
    clear = np.ones(len(paired), bool) if two_stages else ~tied(api["anchors"], boxes, size)
    losses = [
        np.abs(ours[own].reshape(-1) - api[theirs]) / np.maximum(np.abs(api[theirs]), 1e-3)
        for own, theirs in names.items()
    ]
    return Agreement(
        raw=_two_stage_raw(api, ours) if two_stages else _one_stage_raw(api, ours),
        detections=sum(one.wanted for one in paired), unpaired=sum(one.unpaired for one in paired),
        least_iou=min(one.least_iou for one in paired), scores=max(one.scores for one in paired),
        losses=float(np.max(np.stack(losses)[:, clear])), tied=int((~clear).sum()),
        regions_apart=_regions_apart(api, ours) if two_stages else None,
    )  # fmt: skip


def tied(anchors: NDArray[Any], boxes: NDArray[Any], size: tuple[int, int]) -> NDArray[np.bool_]:
    """Images with a box that lies inside two anchors of one size: the last bit decides which of them takes it."""
    order = [1, 0, 3, 2]
    places = (boxes / np.array([*size, *size]))[..., order].astype(np.float64)
    best = [np.sort(iou(one, anchors[:, order].astype(np.float64)), axis=1)[:, -2:] for one in places]
    return np.array([bool((pair[:, 1] - pair[:, 0] < 1e-6).any()) for pair in best])


def _one_stage_raw(api: Answers, ours: Answers) -> float:
    logits = np.roll(api["class_predictions_with_background"], -1, axis=-1)
    return max(_apart(ours["raw_0"], logits), _apart(ours["raw_1"], api["box_encodings"]))


def _two_stage_raw(api: Answers, ours: Answers) -> float:
    """Of the first stage, and of the second on the API's regions."""
    return max(
        _apart(ours["rpn_0"], api["rpn_objectness_predictions_with_background"]),
        _apart(ours["rpn_1"], api["rpn_box_encodings"]),
        _apart(ours["theirs_0"], np.roll(api["class_predictions_with_background"], -1, axis=-1)),
        _apart(ours["theirs_1"], api["refined_box_encodings"]),
    )


def _regions_apart(api: Answers, ours: Answers) -> int:
    found = 0
    for own, theirs in zip(ours["raw_2"][:, 0], api["proposal_boxes"][:, 0], strict=True):
        apart = np.abs(own[:, None] - theirs[None]).max(axis=-1)
        found += sum(int((apart.min(axis=axis) > REGION_PIXELS).sum()) for axis in (0, 1))
    return found


def _apart(ours: NDArray[Any], theirs: NDArray[Any]) -> float:
    theirs = theirs.reshape(ours.shape)
    return float(np.abs(ours - theirs).max() / np.abs(theirs).max())


@dataclass(frozen=True)
class Pairs:
    wanted: int
    unpaired: int
    least_iou: float
    scores: float


def pair(api: Answers, ours: Answers, index: int, size: tuple[int, int]) -> Pairs:
    """Each detection with the nearest of its class in the other answer, both ways."""
    height, width = size
    y1, x1, y2, x2 = api["detection_boxes"][index].reshape(-1, 4).T
    there = api["detection_scores"][index].reshape(-1)
    real = there > 0
    theirs = np.stack([x1 * width, y1 * height, x2 * width, y2 * height], axis=-1)[real].astype(np.float64)
    their_classes, there = api["detection_classes"][index].reshape(-1)[real].astype(int), there[real]
    kept = ours["classes"][index].reshape(-1) >= 0
    boxes = ours["boxes"][index].reshape(-1, 4)[kept].astype(np.float64)
    classes, scores = ours["classes"][index].reshape(-1)[kept], ours["scores"][index].reshape(-1)[kept]
    overlap = np.where(classes[:, None] == their_classes[None], iou(boxes, theirs), -1.0)
    near = np.abs(scores[:, None] - there[None]) <= SCORES
    overlap = np.where(near, overlap, -1.0)
    found = [overlap.max(axis=axis, initial=-1.0) for axis in (0, 1)]
    unpaired = sum(int((one <= 0.99).sum()) for one in found)
    matched = [one[one > 0.99] for one in found]
    best = overlap.argmax(axis=1) if len(theirs) else np.zeros(0, int)
    gaps = np.abs(scores - there[best])[found[1] > 0.99] if len(theirs) else np.zeros(0)
    return Pairs(
        len(boxes) + len(theirs), unpaired, min((float(one.min(initial=1.0)) for one in matched), default=1.0),
        float(gaps.max(initial=0.0)),
    )  # fmt: skip


def iou(a: Floats, b: Floats) -> Floats:
    low, high = np.maximum(a[:, None, :2], b[None, :, :2]), np.minimum(a[:, None, 2:], b[None, :, 2:])
    shared = np.clip(high - low, 0.0, None).prod(axis=-1)
    areas = [(one[:, 2:] - one[:, :2]).prod(axis=-1) for one in (a, b)]
    return np.asarray(shared / np.maximum(areas[0][:, None] + areas[1][None] - shared, 1e-9))
