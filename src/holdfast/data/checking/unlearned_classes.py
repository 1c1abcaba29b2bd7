"""Classes that a model is judged by and never shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from holdfast.data.files import splits


def unlearned_classes(boxes_by_split: Mapping[str | None, Mapping[str, int]]) -> dict[str, int]:
    """Boxes for validation of each class that has none for training. Nothing where training has no boxes at all, or
    where no split is known: the validation images are then drawn from the same ones."""
    train, validation = splits.training_splits(boxes_by_split), splits.validation_splits(boxes_by_split)
    if train & validation:
        return {}
    learned, judged = (_counted(boxes_by_split, wanted) for wanted in (train, validation))
    return {name: judged[name] for name in sorted(judged) if not learned[name]} if learned else {}


def _counted(
    boxes_by_split: Mapping[str | None, Mapping[str, int]], wanted: frozenset[str | None]
) -> Counter[str]:
    counted: Counter[str] = Counter()
    for split, boxes in boxes_by_split.items():
        if split in wanted:
            counted.update(boxes)
    return counted
