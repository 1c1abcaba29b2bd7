"""How far Holdfast's answers are from torchvision's, which are in a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import keras
import numpy as np
from keras import ops

Answers = Mapping[str, Any]


def raw_difference(ours: np.ndarray, theirs: np.ndarray) -> float:
    """The largest difference, as a share of the largest number."""
    return float(np.abs(ours - theirs).max() / np.abs(theirs).max())


def heads_first(detector: Any, logits: np.ndarray) -> np.ndarray:
    """Class logits in torch's order: the background first, but for RetinaNet's."""
    return logits if detector.spec.detector == "retinanet" else np.roll(logits, 1, axis=-1)


def compiled(detector: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of arrays that uses the detector, compiled for their shapes; it gives numpy's."""
    if keras.backend.backend() == "jax":
        import jax

        variables = list(detector.variables)

        def stateless(values: list[Any], *given: Any) -> Any:
            with keras.StatelessScope(state_mapping=list(zip(variables, values, strict=True))):
                return function(*given)

        jitted = jax.jit(stateless)
        return lambda *given: jax.tree.map(np.asarray, jitted([one.value for one in variables], *given))
    import tensorflow as tf

    graph = tf.function(function, autograph=False)
    return lambda *given: tf.nest.map_structure(
        lambda one: one.numpy(), graph(*tf.nest.map_structure(tf.constant, given))
    )


def raw_outputs(detector: Any) -> Callable[..., Any]:
    """Of an image; for Faster R-CNN of an image and torchvision's regions, and the own regions and which are real."""
    if detector.spec.detector != "faster-rcnn":
        return compiled(detector, lambda image: detector(image))

    def both_stages(image: Any, regions: Any) -> Any:
        maps = detector.pyramid(detector.backbone(image))
        objectness, offsets = detector.rpn(maps)
        found = detector._propose(objectness, offsets, detector.numbers.proposals)
        return (
            ops.concatenate(objectness, axis=1), ops.concatenate(offsets, axis=1),
            *detector._look_closer(maps, regions), *found,
        )  # fmt: skip

    return compiled(detector, both_stages)


def raw_differences(
    detector: Any, outputs: Callable[..., Any], pixels: np.ndarray, answers: Answers, index: int
) -> dict[str, float]:
    image = pixels[index : index + 1]
    start = f"raw/{index}/"
    theirs = {key.removeprefix(start): value for key, value in answers.items() if key.startswith(start)}
    if detector.spec.detector != "faster-rcnn":
        logits, offsets = (part[0] for part in outputs(image))
        return {
            "logits": raw_difference(heads_first(detector, logits), theirs["logits"]),
            "offsets": raw_difference(offsets, theirs["offsets"]),
        }
    given = theirs["regions"]
    parts = outputs(image, _filled_up(given, detector.numbers.proposals)[None])
    objectness, rpn_offsets, logits, offsets, regions, real = (part[0] for part in parts)
    wanted = theirs["offsets"].reshape(len(given), -1, 4)[:, 1:]
    return {
        "objectness": raw_difference(objectness, theirs["objectness"]),
        "rpn offsets": raw_difference(rpn_offsets, theirs["rpn_offsets"]),
        "logits": raw_difference(heads_first(detector, logits)[: len(given)], theirs["logits"]),
        "offsets": raw_difference(offsets[: len(given)], wanted),
        "regions without partner": _regions_apart(regions[real], given),
    }


def _filled_up(regions: np.ndarray, size: int) -> np.ndarray:
    """With copies of the last, so that every image has the shape that was compiled."""
    return np.concatenate([regions, np.repeat(regions[-1:], size - len(regions), axis=0)])


def found_in_regions(detector: Any, image: np.ndarray, regions: np.ndarray) -> tuple[np.ndarray, ...]:
    """The detections of Faster R-CNN in these regions, in place of those that it proposes itself."""
    size, proposes = detector.numbers.proposals, detector._propose
    real = (np.arange(size) < len(regions))[None]
    detector._propose = lambda *_: (ops.convert_to_tensor(_filled_up(regions, size)[None]), real)
    try:
        return tuple(part[0] for part in compiled(detector, detector.detect)(image))
    finally:
        detector._propose = proposes


def _regions_apart(ours: np.ndarray, theirs: np.ndarray) -> float:
    """How many regions of either have none of the other within a twentieth of a pixel."""
    apart = np.abs(ours[:, None] - theirs[None]).max(axis=-1)
    return float((apart.min(axis=1) > 0.05).sum() + (apart.min(axis=0) > 0.05).sum())


def unpaired(
    ours: tuple[np.ndarray, ...],
    theirs: tuple[np.ndarray, ...],
    *,
    overlap: float = 0.999,
    score: float = 1e-4,
) -> tuple[int, int, int]:
    """How many detections of both together, how many have no partner in the other, and how many of equal scores.

    Of two boxes that overlap and whose scores are the same number but for rounding, suppression keeps either: each
    side then has one of them.
    """
    total, alone, tied = 0, 0, 0
    for one, other in ((ours, theirs), (theirs, ours)):
        boxes, scores, labels = one
        shared, apart = _iou(boxes, other[0]), np.abs(scores[:, None] - other[1][None])
        same = labels[:, None] == other[2][None]
        paired = (same & (shared > overlap) & (apart < score)).any(axis=1)
        twin = (same & (shared > TWIN_OVERLAP) & (apart < TWIN_SCORE)).any(axis=1) & ~paired
        total += len(scores)
        tied += int(twin.sum())
        alone += int((~paired & ~twin).sum())
    return total, alone, tied


def _iou(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    low = np.maximum(one[:, None, :2], other[None, :, :2])
    high = np.minimum(one[:, None, 2:], other[None, :, 2:])
    shared = np.clip(high - low, 0, None).prod(axis=-1)
    areas = [(boxes[:, 2:] - boxes[:, :2]).prod(axis=-1) for boxes in (one, other)]
    union = areas[0][:, None] + areas[1][None] - shared
    return np.where(union > 0, shared / np.maximum(union, 1e-12), 1.0)


def their_detections(answers: Answers, index: int) -> tuple[np.ndarray, ...]:
    return tuple(answers[f"found/{index}/{key}"] for key in ("boxes", "scores", "labels"))


def our_detections(detector: Any, found: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
    """Of one image, with torch's labels."""
    boxes, scores, classes = found
    kept = classes >= 0
    first = 0 if detector.spec.detector == "retinanet" else 1
    return boxes[kept], scores[kept], classes[kept] + first


TWIN_OVERLAP, TWIN_SCORE = 0.5, 1e-6

LOSSES = {
    "classification": ("classification", "loss_classifier"),
    "localization": ("bbox_regression", "loss_box_reg"),
    "rpn_objectness": ("loss_objectness",),
    "rpn_localization": ("loss_rpn_box_reg",),
}


def with_everything_sampled(detector: Any) -> None:
    """So that no random sample enters the losses."""
    if detector.spec.detector == "faster-rcnn":
        anchors = sum(len(level) for level in detector.level_anchors)
        detector.numbers = replace(
            detector.numbers, anchors=2 * anchors, regions=2 * (detector.numbers.training_proposals + 100),
            positive_regions=0.5,
        )  # fmt: skip


def loss_differences(ours: Mapping[str, np.ndarray], answers: Answers, index: int) -> dict[str, float]:
    """Relative, part by part, for a batch of this one image."""
    found = {}
    for name, value in ours.items():
        key = next(key for key in LOSSES[name] if f"loss/{index}/{key}" in answers)
        theirs = float(answers[f"loss/{index}/{key}"])
        found[name] = abs(float(value[0]) - theirs) / max(abs(theirs), 1e-6)
    return found
