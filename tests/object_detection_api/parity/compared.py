"""How far the two sides are apart: outputs, detections and losses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Answers = dict[str, NDArray[Any]]

RAW, SCORES, LEAST_IOU, LOSS, REGION_PIXELS = 1e-4, 1e-4, 0.999, 1e-4, 0.05
EQUAL_SCORES, OVERLAPPING = (
    1e-6,
    0.5,
)  # of two such boxes of a class rounding decides which one suppression keeps
LOSSES = {"classification": "Loss.classification_loss", "localization": "Loss.localization_loss"}
ANCHOR_LOSSES = {
    "rpn_objectness": "Loss.RPNLoss.objectness_loss", "rpn_localization": "Loss.RPNLoss.localization_loss",
}  # fmt: skip
REGION_LOSSES = {
    "classification": "Loss.BoxClassifierLoss.classification_loss",
    "localization": "Loss.BoxClassifierLoss.localization_loss",
}
ONE_STAGE = {"raw_0": ("class_predictions_with_background", -1), "raw_1": ("box_encodings", 0)}
FIRST_STAGE = {"rpn_0": ("rpn_objectness_predictions_with_background", 0), "rpn_1": ("rpn_box_encodings", 0)}
DETECTED = ("boxes", "scores", "classes")


@dataclass(frozen=True)
class Rounding:
    """How far raw outputs of the first images are from those of the API's graph in float64, relative to the largest.
    Of Faster R-CNN those of the first stage."""

    api: float  # in float32
    ours: float  # in float32
    exact: float | None  # ours in float64: TensorFlow's graph gives it


@dataclass(frozen=True)
class Agreement:
    """`raw` is relative to the largest output; `unpaired` detections have no partner in the other answer. Of an image
    whose regions differ, the detections in the API's regions are compared."""

    raw: float
    detections: int
    unpaired: int
    at_the_end: int  # without a partner, at the end of full lists: rounding decides whose score is the last
    equal: int  # without a partner, where the other answer has an overlapping box with the same score
    least_iou: float
    scores: float
    losses: float
    left_out: int  # images with a loss that differs, where two anchors fit a box equally well or a region is another
    regions_apart: int | None  # of either side, without one of the other within a twentieth of a pixel
    given_apart: int | None  # of regions and detections that either side makes of the API's outputs

    rounding: Rounding

    @property
    def good(self) -> bool:
        near = self.raw <= RAW and self.scores <= SCORES and self.losses <= LOSS
        return near and self.unpaired == 0 and not self.given_apart and self.least_iou > LEAST_IOU


def compare(api: Answers, ours: Answers, boxes: NDArray[Any], size: tuple[int, int]) -> Agreement:
    if "rpn_box_encodings" not in api:
        paired = [pair(api, ours, index, size) for index in range(len(boxes))]
        losses, excused = _losses(api, ours, LOSSES), tied(api["anchors"], boxes, size)
        rounding = _rounding(api, ours, ONE_STAGE)
        return _agreement(_one_stage_raw(api, ours), paired, losses, excused, None, None, rounding)
    apart = _regions_apart(api, ours["regions"])
    there, given = (
        [
            pair(api, {part: ours[f"{name}_{part}"] for part in DETECTED}, index, size)
            for index in range(len(boxes))
        ]
        for name in ("there", "given")
    )
    own = [pair(api, ours, index, size) for index in range(len(boxes))]
    paired = [one if not other else inside for one, inside, other in zip(own, there, apart, strict=True)]
    given_apart = sum(one.unpaired + one.at_the_end + one.equal for one in given)
    losses = np.concatenate([_losses(api, ours, ANCHOR_LOSSES), _losses(api, ours, REGION_LOSSES)])
    equal = tied(api["anchors"], boxes, (1, 1))
    excused = np.stack([equal] * len(ANCHOR_LOSSES) + [apart > 0] * len(REGION_LOSSES))
    return _agreement(
        _two_stage_raw(api, ours), paired, losses, excused, int(apart.sum()),
        int(_regions_apart(api, ours["given_regions"]).sum()) + given_apart,
        _rounding(api, ours, FIRST_STAGE),
    )  # fmt: skip


def _agreement(
    raw: float, paired: list[Pairs], losses: NDArray[Any], excused: NDArray[Any], regions: int | None,
    given: int | None, rounding: Rounding,
) -> Agreement:  # fmt: skip
    """`losses` are (losses, images): how far they are apart. Of those that are `excused`, far ones are left out."""
    left_out = excused & (losses > LOSS)
    return Agreement(
        raw=raw, detections=sum(one.wanted for one in paired), unpaired=sum(one.unpaired for one in paired),
        at_the_end=sum(one.at_the_end for one in paired), equal=sum(one.equal for one in paired),
        least_iou=min(one.least_iou for one in paired), scores=max(one.scores for one in paired),
        losses=float(np.where(left_out, 0.0, losses).max()), left_out=int(left_out.any(axis=0).sum()),
        regions_apart=regions, given_apart=given, rounding=rounding,
    )  # fmt: skip


def _losses(api: Answers, ours: Answers, names: dict[str, str]) -> NDArray[Any]:
    return np.stack([
        np.abs(ours[own].reshape(-1) - api[theirs]) / np.maximum(np.abs(api[theirs]), 1e-3)
        for own, theirs in names.items()
    ])  # fmt: skip


def tied(anchors: NDArray[Any], boxes: NDArray[Any], size: tuple[int, int]) -> NDArray[np.bool_]:
    """Images with a box that lies inside two anchors of one size: the last bit decides which of them takes it."""
    order = [1, 0, 3, 2]
    places = (boxes / np.array([*size, *size]))[..., order].astype(np.float64)
    best = [np.sort(iou(one, anchors[:, order].astype(np.float64)), axis=1)[:, -2:] for one in places]
    return np.array([bool((pair[:, 1] - pair[:, 0] < 1e-6).any()) for pair in best])


def _rounding(api: Answers, ours: Answers, outputs: dict[str, tuple[str, int]]) -> Rounding:
    """`outputs` are the names of raw outputs here: the API's name, and how far its last axis is turned."""
    found: dict[str, list[float]] = {"api": [], "ours": [], "exact": []}
    for index, (own, (theirs, turn)) in enumerate(outputs.items()):
        exact = api[f"exact_{theirs}"]
        few = len(exact)
        found["api"].append(_apart(api[theirs][:few], exact))
        exact = np.roll(exact, turn, axis=-1)
        found["ours"].append(_apart(ours[own][:few], exact))
        if f"exact_{index}" in ours:
            found["exact"].append(_apart(ours[f"exact_{index}"], exact))
    return Rounding(max(found["api"]), max(found["ours"]), max(found["exact"], default=None))


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


def _regions_apart(api: Answers, regions: NDArray[Any]) -> NDArray[np.int64]:
    """Of each image."""
    found = []
    for own, theirs in zip(regions[:, 0], api["proposal_boxes"][:, 0], strict=True):
        apart = np.abs(own[:, None] - theirs[None]).max(axis=-1)
        found.append(sum(int((apart.min(axis=axis) > REGION_PIXELS).sum()) for axis in (0, 1)))
    return np.array(found)


def _apart(ours: NDArray[Any], theirs: NDArray[Any]) -> float:
    theirs = theirs.reshape(ours.shape)
    return float(np.abs(ours - theirs).max() / np.abs(theirs).max())


@dataclass(frozen=True)
class Pairs:
    wanted: int
    unpaired: int
    at_the_end: int
    equal: int
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
    tied_with = (overlap > OVERLAPPING) & (np.abs(scores[:, None] - there[None]) <= EQUAL_SCORES)
    overlap = np.where(near, overlap, -1.0)
    found = [overlap.max(axis=axis, initial=-1.0) for axis in (0, 1)]
    full = len(theirs) == len(real) and len(boxes) == len(kept)
    end = max(scores.min(), there.min()) + SCORES if full else 0.0
    lost = [one <= 0.99 for one in found]
    tied_with &= lost[1][:, None] & lost[0][None]
    equal = [one & tied_with.any(axis=axis) for axis, one in enumerate(lost)]
    alone = np.concatenate([there[lost[0] & ~equal[0]], scores[lost[1] & ~equal[1]]])
    at_the_end = int((alone <= end).sum())
    matched = [one[one > 0.99] for one in found]
    best = overlap.argmax(axis=1) if len(theirs) else np.zeros(0, int)
    gaps = np.abs(scores - there[best])[found[1] > 0.99] if len(theirs) else np.zeros(0)
    return Pairs(
        len(boxes) + len(theirs), len(alone) - at_the_end, at_the_end, sum(int(one.sum()) for one in equal),
        min((float(one.min(initial=1.0)) for one in matched), default=1.0), float(gaps.max(initial=0.0)),
    )  # fmt: skip


def iou(a: Floats, b: Floats) -> Floats:
    low, high = np.maximum(a[:, None, :2], b[None, :, :2]), np.minimum(a[:, None, 2:], b[None, :, 2:])
    shared = np.clip(high - low, 0.0, None).prod(axis=-1)
    areas = [(one[:, 2:] - one[:, :2]).prod(axis=-1) for one in (a, b)]
    return np.asarray(shared / np.maximum(areas[0][:, None] + areas[1][None] - shared, 1e-9))
