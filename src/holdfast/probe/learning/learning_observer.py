"""What a model compares and what it is fed, recorded once at the start of a fit, and again when it is known better."""

from __future__ import annotations

from typing import Any

from ...journal.events import ObjectMapsSeen, OutputSeen, ValuesSeen, payload
from ..detection import detection_maps, detection_samples
from ..runtime.context import ProbeContext
from ..runtime.nested_values import leaves
from ..state.fit_log import FitState
from . import deep_look, image_dependence, outputs, recorded_rows, value_samples
from .dataset_samples import DatasetSamples
from .drawn_rows import DrawnRows
from .layer_lines import LayerLines

PART = "learning"
PART_VALUES = "value_samples"
_ALWAYS_FIRST = 20  # fits; a search or a training by many short fits would flood the journal
_MOST_ARRAYS = 6  # of the inputs of one model


class LearningObserver:
    def __init__(self, context: ProbeContext) -> None:
        self._context = context
        self.lines = LayerLines()
        self.samples = DatasetSamples(context, self)
        self.new_run()

    def new_run(self) -> None:
        self._structures: set[Any] = set()
        self._outputs: dict[str, Any] = {}
        self._shapes: dict[str, Any] = {}
        self.awaits_batch = False  # the first batch of this fit that passes through Python is sampled
        self._fit: int | None = None
        self.of_places = False  # the targets are classes of boxes, of anchors or of places in a grid

    # -- fits -----------------------------------------------------------------------------------------

    def fit_begins(self, fit: FitState, given: dict[str, Any]) -> None:
        """`given`: the arguments of `fit`."""
        self.awaits_batch = self.of_places = False
        self.samples.forget()
        if not _is_recorded(fit.number):
            return
        self._shapes, self._fit = {}, fit.number
        self._context.guard(PART_VALUES, self._sample_arguments, fit, given)
        self._context.guard(PART, self._record_model, fit)

    def epoch_ends(self, fit: FitState) -> None:
        """After the first epoch a model is built, and its metrics are what they became."""
        if fit.epochs_done == 1 and _is_recorded(fit.number):
            self._context.guard(PART, self._record_model, fit)

    def fit_ends(self, fit: FitState) -> None:
        self.awaits_batch = False
        first = fit.motion.first_loss if fit.motion else None
        learned_nothing = bool(deep_look.suspicion(first, fit.losses)) or deep_look.by_heart(fit.losses)
        self._context.guard(PART_VALUES, self.samples.fit_ended, fit.first_step_s, learned_nothing)
        if learned_nothing and _is_recorded(fit.number):
            self._context.guard(PART_VALUES, self._sample_images, fit)
        if not fit.epochs_done and _is_recorded(fit.number):
            self._context.guard(PART, self._record_model, fit)

    # -- the model ------------------------------------------------------------------------------------

    def _record_model(self, fit: FitState) -> None:
        model = fit.model
        if model is None or not hasattr(model, "_flatten_layers"):
            return
        layers = outputs.layers_seen(model, self.lines)
        key = (id(model), str(layers.layers))
        if layers.layers and key not in self._structures:
            self._structures.add(key)
            self._context.record(layers)
        where = self._context.models.compiled_at(model)
        seen = outputs.outputs_seen(model, self.lines, fit.number, where, self._shapes)
        for event in seen:
            if self._is_new(event):
                self._context.record(event)

    def _is_new(self, event: OutputSeen) -> bool:
        """Recorded again for a later fit: another model may have been recorded between."""
        values = payload(event)
        if self._outputs.get(event.output) == values:
            return False
        self._outputs[event.output] = values
        return True

    # -- values ---------------------------------------------------------------------------------------

    def _sample_arguments(self, fit: FitState, given: dict[str, Any]) -> None:
        x, y = given.get("x"), given.get("y")
        names = [
            str(name)
            for name in (y if isinstance(y, dict) else getattr(fit.model, "output_names", None) or [])
        ]
        arrays = _arrays(x)
        if not arrays:
            self.awaits_batch = True
            return
        targets = _arrays(y)
        self.record_values(arrays, targets, names, where=fit.where, fit=fit.number)
        weights = _arrays(given.get("sample_weight"))
        if weights or given.get("class_weight"):
            self._context.record(_weights(weights, given.get("class_weight"), fit.number))
        self._relate(arrays, targets, fit.number)

    def _relate(self, arrays: list[Any], targets: list[Any], fit: int | None) -> None:
        """All rows of a table, as arrays or as tensors of a dataset: do the labels depend on them?"""
        if len(arrays) == 1 and len(targets) == 1 and fit == 1:
            seen = value_samples.dependence(arrays[0], targets[0], fit)
            if seen is not None:
                self._context.record(seen)

    def _sample_images(self, fit: FitState) -> None:
        """Of arrays that `fit` was given; a table was looked at when it began."""
        x, y, _ = fit.given if fit.given is not None else (None, None, 0.0)
        if y is None or not image_dependence.is_images(x):
            return
        taken = recorded_rows.of_fit(self._context, fit, image_dependence.MOST_ROWS)
        rows = DrawnRows()
        if taken is not None:
            rows.add_arrays(taken.inputs, taken.targets)
            self.record_dependence(rows, fit.number)

    def record_dependence(self, rows: DrawnRows, fit: int | None = None) -> None:
        seen = rows.dependence(self._fit if fit is None else fit)
        if seen is not None:
            self._context.record(seen)

    def record_values(
        self, inputs: list[Any], targets: list[Any], names: list[str], *, where: str = "", step: int = 0,
        fit: int | None = None,
    ) -> None:  # fmt: skip
        several = len(inputs) > 1
        for place, array in enumerate(inputs[:_MOST_ARRAYS]):
            name = str(place) if several else ""
            self._record(
                value_samples.values_seen(array, "input", name=name, where=where, step=step, fit=fit)
            )
        several = len(targets) > 1
        for place, array in enumerate(targets[:_MOST_ARRAYS]):
            name = (names[place] if place < len(names) else str(place)) if several else ""
            self._shapes[name] = [None, *(int(side) for side in array.shape[1:])]
            self._record(
                value_samples.values_seen(array, "target", name=name, where=where, step=step, fit=fit)
            )
        self._record_maps(targets, names, step, fit)
        seen = detection_samples.targets_seen(inputs, targets, names, step=step, fit=fit, where=where)
        if seen is not None:
            self.of_places = detection_samples.mostly_one_class(seen)
            self._context.record(seen)

    def _record_maps(self, targets: list[Any], names: list[str], step: int, fit: int | None) -> None:
        for place, array in enumerate(targets[:_MOST_ARRAYS]):
            found = detection_maps.objects_on(array)
            if found is not None:
                name = names[place] if len(targets) > 1 and place < len(names) else ""
                self._context.record(ObjectMapsSeen(fit=fit, step=step, name=name, **found))
                return

    def places_in(self, inputs: list[Any], targets: list[Any], names: list[str]) -> Any:
        """What a batch of a loop shows of boxes and their classes; None if nothing."""
        return detection_samples.targets_seen(inputs, targets, names, step=1)

    def _record(self, event: ValuesSeen | None) -> None:
        if event is not None:
            self._context.record(event)

    def batch_fetched(self, element: Any, step: int = 1) -> None:
        """The first batch of a fit that passes through Python: inputs, targets, weights."""
        if not self.awaits_batch:
            return
        self.awaits_batch = False
        self._context.guard(PART_VALUES, self._sample_batch, element, step)

    def _sample_batch(self, element: Any, step: int) -> None:
        while isinstance(element, list) and len(element) == 1:  # the batches of one execution
            element = element[0]
        if not isinstance(element, tuple) or len(element) not in (2, 3):
            return
        names = [str(one) for one in element[1]] if isinstance(element[1], dict) else []
        self._context.deep_look.batch_passed(element[0], element[1])
        arrays, targets = _arrays(element[0]), _arrays(element[1])
        self.record_values(arrays, targets, names, step=step, fit=self._fit)
        if step == 0:
            self._relate(arrays, targets, self._fit)
        weights = _arrays(element[2]) if len(element) == 3 else []
        if weights:
            self._context.record(_weights(weights, None, self._fit))


def _weights(arrays: list[Any], by_class: Any, fit: int | None) -> ValuesSeen:
    """That samples or classes are weighted."""
    seen = value_samples.values_seen(arrays[0], "weight", fit=fit) if arrays else None
    return (
        seen
        if seen is not None
        else ValuesSeen(role="weight", name="class_weight" if by_class else "", fit=fit)
    )


def _arrays(value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)) and value and isinstance(value[0], (int, float)):
        value = [list(value)]
    found = [value_samples.as_array(leaf) for leaf in leaves(value)]
    return [array for array in found if array is not None]


def _is_recorded(number: int) -> bool:
    return number <= _ALWAYS_FIRST or number & (number - 1) == 0
