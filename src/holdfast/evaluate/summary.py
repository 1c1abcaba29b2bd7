"""One evaluation, and how it reads: as JSON with the names of the contract, and as text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from holdfast.evaluate.box_columns import GroundTruth, Predictions
from holdfast.evaluate.coco_metrics import CocoScore, score
from holdfast.evaluate.mistakes import KINDS, Mistakes, count
from holdfast.evaluate.voc_metrics import mean_average_precision
from holdfast.report.evaluation import MISTAKES


@dataclass(frozen=True, slots=True)
class Evaluation:
    images: int
    boxes: int
    detections: int
    coco: CocoScore
    voc_map: float
    voc_by_class: tuple[float, ...]
    mistakes: Mistakes


def evaluate(truth: GroundTruth, found: Predictions, *, score_above: float = 0.25) -> Evaluation:
    """Everything that `holdfast eval` says. `score_above` concerns the counts of mistakes alone."""
    voc_map, voc_by_class = mean_average_precision(truth, found)
    return Evaluation(
        images=len(truth.images),
        boxes=int((~truth.crowd).sum()),
        detections=len(found),
        coco=score(truth, found),
        voc_map=voc_map,
        voc_by_class=voc_by_class,
        mistakes=count(truth, found, score_above=score_above),
    )


def as_json(result: Evaluation) -> dict[str, Any]:
    classes = [
        {"name": one.name, "boxes": one.boxes, **one.numbers, "voc_ap50": voc,
         "precision_at_recall": {str(curve.iou): list(curve.precision) for curve in one.curves}}
        for one, voc in zip(result.coco.classes, result.voc_by_class, strict=True)
    ]  # fmt: skip
    return {
        **result.coco.numbers,
        "images": result.images,
        "boxes": result.boxes,
        "detections": result.detections,
        "voc_map50": result.voc_map,
        "classes": classes,
        "mistakes": {
            "iou": result.mistakes.iou,
            "score_above": result.mistakes.score_above,
            "right": result.mistakes.right,
            **result.mistakes.kinds,
        },
        "confusion": {
            "classes": [one.name for one in result.coco.classes] + ["background"],
            "true_by_found": result.mistakes.confusion.tolist(),
        },
    }


def as_text(result: Evaluation, most_classes: int = 20) -> str:
    numbers = result.coco.numbers
    lines = [
        f"AP {_n(numbers['AP'])}   AP50 {_n(numbers['AP50'])}   AP75 {_n(numbers['AP75'])}   "
        f"({result.images} images, {result.boxes} boxes, {result.detections} detections)",
        "",
        "                all    small  medium  large",
        f"  precision   {_row(numbers, 'AP', 'APs', 'APm', 'APl')}",
        f"  recall      {_row(numbers, 'AR100', 'ARs', 'ARm', 'ARl')}",
        f"  recall with 1, 10, 100 detections an image: {_n(numbers['AR1'])}, {_n(numbers['AR10'])}, "
        f"{_n(numbers['AR100'])}",
        f"  VOC mAP at overlap 0.5: {_n(result.voc_map)}",
        "",
        *_class_lines(result, most_classes),
        "",
        *_mistake_lines(result.mistakes),
    ]
    return "\n".join(lines)


def _class_lines(result: Evaluation, most: int) -> list[str]:
    seen = sorted((one for one in result.coco.classes if one.boxes), key=lambda one: one.numbers["AP"])
    width = max([len(one.name) for one in seen[:most]] + [5])
    lines = [f"  {'class':<{width}}  boxes     AP   AP50   AP75"]
    lines += [
        f"  {one.name:<{width}}  {one.boxes:>5}  {_n(one.numbers['AP'])}  {_n(one.numbers['AP50'])}  "
        f"{_n(one.numbers['AP75'])}"
        for one in seen[:most]
    ]
    if len(seen) > most:
        lines.append(f"  … and {len(seen) - most} better classes (--json lists all)")
    return lines


def _mistake_lines(mistakes: Mistakes) -> list[str]:
    head = f"  of the detections scored {mistakes.score_above:g} or more, at overlap {mistakes.iou:g}:"
    lines = [head, f"  {mistakes.right:>6}  right"]
    return lines + [f"  {mistakes.kinds[kind]:>6}  {MISTAKES[kind]}" for kind in KINDS]


def _row(numbers: dict[str, float], *names: str) -> str:
    return "  ".join(_n(numbers[name]) for name in names)


def _n(value: float) -> str:
    """-1 is COCO's word for "there is none of that"."""
    return "    –" if value < 0 else f"{value:.3f}"
