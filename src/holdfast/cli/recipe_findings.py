"""What `holdfast check RECIPE` finds in the settings: each with its name, its line and what to change."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast.settings.read import line_of
from holdfast.settings.recipe import Recipe

if TYPE_CHECKING:
    from holdfast.data.checking.anchor_coverage import AnchorCoverage, SizedBoxes
    from holdfast.data.checking.statistics import DatasetStatistics
    from holdfast.data.findings import DataFinding, FindingPlace
    from holdfast.detectors.anchors.grid import LevelShapes

#: Anchors are tried on so many boxes at most, and so many pairs of a box and an anchor.
_MOST_BOXES, _MOST_PAIRS = 1000, 20_000_000
_LARGEST_INPUT = 4096
_CLASSES_SHOWN = 4
#: Shares of all boxes, and of those of one class, from which boxes without an anchor are more than worth knowing.
_MANY, _MOST_OF_A_CLASS, _FEWEST_OF_A_CLASS = 0.3, 0.5, 10


class WrittenRecipe(NamedTuple):
    """A recipe with its text, so that a message can name the line of a setting."""

    path: Path
    text: str
    recipe: Recipe

    @classmethod
    def of(cls, path: Path, recipe: Recipe) -> WrittenRecipe:
        return cls(path, path.read_text(encoding="utf-8-sig", errors="replace"), recipe)

    def place(self, setting: str, value: Any, found: str) -> FindingPlace:
        from holdfast.data.findings import FindingPlace

        line = line_of(self.text, setting)
        where = f"{self.path}:{line}" if line else str(self.path)
        return FindingPlace(
            where, f"{setting} = {_written(value)}{'' if line else ' (the default)'}: {found}"
        )


def of_settings(written: WrittenRecipe, images: int) -> tuple[DataFinding, ...]:
    from holdfast.data.findings import SEVERITIES, DataFinding
    from holdfast.train.learning.setting_rules import doubtful_settings

    return tuple(
        DataFinding(
            one.rule, SEVERITIES[one.rule], 1, (written.place(one.setting, one.value, one.found),), one.change
        )
        for one in doubtful_settings(written.recipe, images)
    )


def of_anchors(written: WrittenRecipe, census: DatasetStatistics) -> tuple[DataFinding, ...]:
    """Boxes that no anchor of the recipe's detector comes near, from a sample of bounded size."""
    from holdfast.data.checking.anchor_coverage import WORTH_SAYING
    from holdfast.data.findings import DataFinding, FindingPlace
    from holdfast.detectors.spec import BACKBONES

    model = written.recipe.model
    if not census.sample or model.backbone not in BACKBONES[model.detector]:
        return ()
    trial = _AnchorTrial(written.recipe, census.sample)
    found = trial.coverage(model.input, fitted=model.anchors == "fitted")
    if found.share < WORTH_SAYING or not found.boxes:
        return ()
    count = round(found.share * census.boxes)
    places = [written.place("model.input", model.input, _shares(found))]
    places += [FindingPlace(written.recipe.data.train, one) for one in found.worst(model.input)]
    severity = "warning" if _matters(found) else "note"
    return (DataFinding("uncovered-boxes", severity, count, tuple(places), trial.remedy(found)),)


def _matters(found: AnchorCoverage) -> bool:
    """Every box is given its best anchor, so that a detector learns a few boxes without a good one."""
    counts = Counter(found.names)
    classes = [share for name, share in found.by_class.items() if counts[name] >= _FEWEST_OF_A_CLASS]
    return found.share >= _MANY or max(classes, default=0.0) >= _MOST_OF_A_CLASS


class _AnchorTrial:
    """How well anchors cover a sample of boxes, at this input or another, as given or fitted."""

    def __init__(self, recipe: Recipe, sample: SizedBoxes) -> None:
        from holdfast.detectors.spec import resizing_of

        self._model = recipe.model
        self._resizing = resizing_of(recipe.model.detector, recipe.model.weights)
        self._sample = sample

    def coverage(self, input_px: int, *, fitted: bool) -> AnchorCoverage:
        from holdfast.data.checking.anchor_coverage import boxes_in_input, coverage_of
        from holdfast.detectors.anchors.anchor_defaults import anchors_of

        shapes = self._fitted(input_px) if fitted else None
        anchors = anchors_of(self._model.detector, self._model.backbone, input_px, shapes)
        return coverage_of(
            *boxes_in_input(self._few(len(anchors)), input_px, resizing=self._resizing), anchors
        )

    def remedy(self, now: AnchorCoverage) -> str:
        """What helps most: fitted anchors, a larger input, or both."""
        side, given = self._model.input, self._model.anchors == "given"
        tried = [
            (f"model.input = {size}", size, not given)
            for size in (2 * side, 4 * side)
            if size <= _LARGEST_INPUT
        ]
        if given and self._model.weights in (None, "imagenet"):
            tried = [('model.anchors = "fitted"', side, True), *tried]
            tried += [(f'model.anchors = "fitted" and model.input = {2 * side}', 2 * side, True)]
        said = [(change, self.coverage(size, fitted=fitted).share) for change, size, fitted in tried]
        enough = [one for one in said if one[1] < 0.5 * now.share]
        if not enough:
            tried_all = ", ".join(f"{change} (leaves {share:.0%})" for change, share in said)
            return f"train on parts of the images, or at a much larger input; not enough is {tried_all}"
        return " or ".join(f"{change} (leaves {share:.0%})" for change, share in enough[:2])

    def _fitted(self, input_px: int) -> LevelShapes:
        from holdfast.data.checking.anchor_coverage import boxes_in_input
        from holdfast.detectors.anchors.anchor_defaults import anchors_of
        from holdfast.detectors.anchors.anchor_fit import fit

        model, size = self._model, (input_px, input_px)
        count = len(anchors_of(model.detector, model.backbone, size))
        _, corners = boxes_in_input(self._few(3 * count), input_px, resizing=self._resizing)
        return fit(model.detector, model.backbone, size, corners)

    def _few(self, anchors: int) -> SizedBoxes:
        most = max(50, min(_MOST_BOXES, _MOST_PAIRS // anchors))
        return self._sample[:: -(-len(self._sample) // most)]


def _shares(found: AnchorCoverage) -> str:
    classes = [f"{name} {share:.0%}" for name, share in found.by_class.items() if share]
    more = f" and {len(classes) - _CLASSES_SHOWN} more classes" if len(classes) > _CLASSES_SHOWN else ""
    return (
        f"{found.share:.0%} of the boxes overlap no anchor by half ({', '.join(classes[:_CLASSES_SHOWN])}{more}); "
        f"half of these are smaller than {found.median_side:.0f} px there"
    )


def _written(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)
