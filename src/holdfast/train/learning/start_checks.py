"""What `holdfast check RECIPE` would say of a training, recorded at its start: `explain` reads it at the end."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from holdfast.data.checking.anchor_coverage import AnchorCoverage, coverage_of
from holdfast.data.checking.unlearned_classes import unlearned_classes
from holdfast.detectors.anchors.anchor_defaults import anchors_of
from holdfast.detectors.anchors.anchor_fit import to_input_pixels
from holdfast.detectors.spec import DetectorSpec
from holdfast.journal import events as ev
from holdfast.pipeline.dataset_columns import Columns
from holdfast.settings.recipe import Recipe
from holdfast.train.learning.setting_rules import doubtful_settings

#: Pairs of a box and an anchor: a third of a second, once.
_MOST_PAIRS, _MOST_BOXES, _FEWEST_BOXES = 5_000_000, 1000, 50
_MOST_CLASSES = 20


def start_events(
    recipe: Recipe, spec: DetectorSpec, train: Columns, validation: Columns
) -> Iterator[ev.Event]:
    for one in doubtful_settings(recipe, len(train)):
        yield ev.SettingDoubted(
            rule=one.rule, setting=one.setting, value=one.value, text=one.found, change=one.change
        )
    judged = _by_class(validation)
    unlearned = unlearned_classes({"train": _by_class(train), "val": judged})
    if unlearned:
        yield ev.ClassesUnlearned(
            boxes=dict(list(unlearned.items())[:_MOST_CLASSES]), of=sum(judged.values())
        )
    covered = None if spec.variant else anchor_coverage(spec, train)  # others match in their own way
    if covered is not None:
        yield ev.AnchorsCompared(
            boxes=covered.boxes, uncovered=covered.uncovered, input=spec.input[0], fitted=spec.anchors is not None,
            by_class=dict(list(covered.by_class.items())[:_MOST_CLASSES]), median_side=covered.median_side,
        )  # fmt: skip


def anchor_coverage(spec: DetectorSpec, columns: Columns) -> AnchorCoverage | None:
    """Of boxes spread over all of the data; None where there are none."""
    objects = np.flatnonzero(~columns.crowds)
    if not len(objects):
        return None
    anchors = anchors_of(spec.detector, spec.backbone, spec.input, spec.anchors)
    most = max(_FEWEST_BOXES, min(_MOST_BOXES, _MOST_PAIRS // len(anchors)))
    rows = objects[:: -(-len(objects) // most)]
    images = np.searchsorted(columns.first, rows, side="right") - 1
    corners = to_input_pixels(
        columns.boxes[rows].astype(float), columns.sizes[images], spec.input, spec.resizing
    )
    return coverage_of([columns.classes[label] for label in columns.labels[rows]], corners, anchors)


def _by_class(columns: Columns) -> dict[str, int]:
    counted = np.bincount(columns.labels[~columns.crowds], minlength=len(columns.classes))
    return {name: int(count) for name, count in zip(columns.classes, counted, strict=True) if count}
