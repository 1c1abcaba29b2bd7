"""A look at activations and gradients after a fit that seems to have learned nothing.

Some rows of the training data are sent through the model once more, after `fit` is over and before it returns. The
model, its optimizer, its metrics and all random states are afterwards what they were. HOLDFAST_DEEP_LOOK=0 switches it
off. Code of the user's own (a layer, a loss) is not run: it may print, or count its calls.
"""

from __future__ import annotations

import math
import os
import time
from typing import TYPE_CHECKING, Any

from ...journal.events import LayersMeasured, ValuesSeen
from ..detection import detection_samples
from ..runtime import hidden_thread
from ..runtime.nested_values import leaves
from ..state import model_facts
from . import experiment_files, layer_statistics, looked_at, recorded_rows, sent_through
from .random_states import unchanged_random_states

if TYPE_CHECKING:
    from ..runtime.context import ProbeContext
    from ..state.fit_log import FitState

PART = "deep_look"
PART_EXPERIMENT = "experiment_files"
SWITCH = "HOLDFAST_DEEP_LOOK"

_MOST_LOOKS = 4  # in a process: a search has many fits
_FEWEST_STEPS = 5
_ROWS, _FEWEST_ROWS = 64, 8
_USUAL_BATCH = 32
_MOST_PARAMETERS = 50_000_000
_MOST_LAYERS = 500
_MOST_SECONDS = 5.0  # that sending the rows through is expected to take, by the time of a step
_EAGER = 3.0  # times that single operations take longer than a compiled step
_LONGEST_SEQUENCE = 300
_FREE_SHARE = 0.25  # of the free memory that it may take
_BYTES_PER_PARAMETER = 12  # values, gradients, and a copy
# What makes it worth the time. A look blames nobody: the rules judge, later.
_FELL = 0.7  # a loss above this share of its first value has hardly fallen
_PLATEAU, _EPOCHS_OF_PLATEAU = 0.02, 3  # it fell by less over the last half of so many epochs
_AVERAGES_SETTLE, _WORSE_VALIDATED = 500, 3.0  # updates at a momentum of 0.99
_EPOCHS_VALIDATED, _SAME = 5, 0.97  # a validation that never falls to this share of its first loss
_ACCURATE, _INACCURATE, _AT_THE_FLOOR = 0.9, 0.6, 1e-3


class DeepLook:
    def __init__(self, context: ProbeContext) -> None:
        self._context = context
        self.new_run()

    def new_run(self) -> None:
        self._looks = self._kept = 0
        self._batch: recorded_rows.Rows | None = None

    def fit_ends(self, fit: FitState, steps: int) -> None:
        """After the last step of a fit, before it returns."""
        self._context.guard(PART, self._fit_ended, fit, steps)

    def _fit_ended(self, fit: FitState, steps: int) -> None:
        if os.environ.get(SWITCH, "1") == "0" or self._looks >= _MOST_LOOKS or steps < _FEWEST_STEPS:
            return
        first_loss = fit.motion.first_loss if fit.motion is not None else None
        reason = suspicion(first_loss, fit.losses) or _of_normalisation(fit, steps)
        if fit.deferred or _in_strategy(fit.model):
            return
        if self._kept < _MOST_LOOKS and (reason in ("flat", "trivial") or _no_better(first_loss, fit.losses)):
            self._context.guard(PART_EXPERIMENT, self._keep, fit)
        reason = reason or ("places" if self._context.learning.of_places else "")
        if not reason:
            return
        most = self._affordable_rows(fit)
        rows = recorded_rows.of_fit(self._context, fit, most) or self._batch if most >= _FEWEST_ROWS else None
        left_out = "" if rows is not None else "a step takes too long, or the data can be read only once"
        left_out = left_out or looked_at.refusal(fit.model) or self._too_much(fit, rows)
        self._looks, self._batch = self._looks + 1, None
        if left_out:
            self._context.record(LayersMeasured(fit=fit.number, step=steps, reason=reason, left_out=left_out))
            return
        # In a thread of its own: what counts the steps and the data of the training thread does not count this.
        thread = hidden_thread.HiddenThread(self._context.guard, PART, self._look, fit, steps, reason, rows)
        thread.join(None)

    def _keep(self, fit: FitState) -> None:
        """For an experiment after the run."""
        self._kept += 1
        rows = recorded_rows.of_fit(self._context, fit, experiment_files.ROWS) or self._batch
        experiment_files.keep(self._context, fit, rows)

    def batch_passed(self, inputs: Any, targets: Any) -> None:
        """The first batch of a fit whose data passes through Python: some rows are kept until the fit ends."""
        self._batch = self._context.guard(PART, recorded_rows.of_batch, inputs, targets, _ROWS)

    def _affordable_rows(self, fit: FitState) -> int:
        """By the time of the newest step."""
        batch = int(fit.arguments.get("batch_size") or _USUAL_BATCH)
        expected_s = _EAGER * self._context.heartbeat.step_ns / 1e9
        return _ROWS if expected_s <= 0 else min(_ROWS, int(batch * _MOST_SECONDS / expected_s))

    def _too_much(self, fit: FitState, rows: Any) -> str:
        """Why it would take too long, or too much memory; "" if it does not."""
        parameters = sum(model_facts.size(one) for one in fit.model.weights)
        layers = list(fit.model._flatten_layers(include_self=False))
        if parameters > _MOST_PARAMETERS or len(layers) > _MOST_LAYERS:
            return f"{parameters:,} parameters are too many for it"
        if _long_sequences(layers, rows):
            return "its recurrent layers would run over long sequences, one operation at a time"
        needed = parameters * _BYTES_PER_PARAMETER + 4 * rows.rows * looked_at.values_per_row(layers)
        free = looked_at.free_bytes()
        if free is not None and needed > _FREE_SHARE * free:
            return f"{needed >> 20} MiB would be too much of the {free >> 20} MiB that are free"
        return ""

    def _look(self, fit: FitState, steps: int, reason: str, rows: Any) -> None:
        begun = time.monotonic()
        with unchanged_random_states(), looked_at.quiet():
            seen = sent_through.look(fit.model, rows)
        self._context.record(
            LayersMeasured(
                fit=fit.number,
                step=steps,
                reason=reason,
                rows=rows.rows,
                seconds=round(time.monotonic() - begun, 4),
                activations=seen.activations,
                gradients=seen.gradients,
                loss=_finite(seen.loss),
                loss_inference=_finite(seen.loss_inference),
                penalty=_finite(seen.penalty),
                left_out=seen.left_out,
            )
        )
        for name, values in seen.predictions:
            statistics = layer_statistics.of_predictions(values)
            if statistics:
                self._context.record(
                    ValuesSeen(
                        role="prediction",
                        name=name,
                        fit=fit.number,
                        step=steps,
                        rows=rows.rows,
                        **statistics,
                    )
                )
        if self._context.learning.of_places:
            self._context.guard(PART, self._compare_places, fit, steps, rows, seen.predictions)

    def _compare_places(self, fit: FitState, steps: int, rows: Any, predictions: list[Any]) -> None:
        """Of each output that has a target: by its name, else by its place."""
        wanted = rows.targets
        by_place = leaves(wanted)
        for place, (name, values) in enumerate(predictions):
            named = wanted.get(name) if isinstance(wanted, dict) else None
            target = (
                named if named is not None else by_place[place] if len(by_place) == len(predictions) else None
            )
            if target is not None:
                seen = detection_samples.packed_answers_seen(target, values, step=steps, fit=fit.number)
                seen = seen or detection_samples.answers_seen(
                    target, values, name, step=steps, fit=fit.number
                )
                if seen is not None:
                    self._context.record(seen)


def suspicion(first: float | None, epochs: list[dict[str, float]]) -> str:
    """Why the fit may have learned nothing: flat | trivial; "" if it has learned."""
    losses = [logs["loss"] for logs in epochs if isinstance(logs.get("loss"), float)]
    if not losses or not math.isfinite(losses[-1]):
        return ""
    named = [name for name in epochs[-1] if "acc" in name and not name.startswith("val_")]
    accuracy = max([epochs[-1][name] for name in named], default=None)
    if accuracy is not None and accuracy > _ACCURATE:
        return ""
    began = max(
        [one for one in (first, losses[0]) if one is not None and math.isfinite(one)], default=losses[0]
    )
    if abs(losses[-1]) < _AT_THE_FLOOR * max(1.0, abs(began)):
        return ""
    if losses[-1] > _FELL * began or began <= 0:
        return "flat"
    middle = losses[len(losses) // 2]
    still = len(losses) >= _EPOCHS_OF_PLATEAU and losses[-1] > (1 - _PLATEAU) * middle
    return "trivial" if still or (accuracy is not None and accuracy < _INACCURATE) else ""


def by_heart(epochs: list[dict[str, float]]) -> bool:
    """Whatever was learned after the first epoch shows in no validation."""
    validated = [logs["val_loss"] for logs in epochs if isinstance(logs.get("val_loss"), float)]
    return len(validated) >= _EPOCHS_VALIDATED and min(validated) > _SAME * validated[0] > 0


def _no_better(first: float | None, epochs: list[dict[str, float]]) -> bool:
    """The loss is no number any more, or has come back from a spike to where its first step was."""
    last = epochs[-1].get("loss") if epochs else None
    if not isinstance(last, float) or not math.isfinite(last):
        return isinstance(last, float)
    accurate = any(
        value > _ACCURATE
        for name, value in epochs[-1].items()
        if "acc" in name and not name.startswith("val_")
    )
    return first is not None and not accurate and last > _FELL * first > 0 and last > _AT_THE_FLOOR


def _of_normalisation(fit: FitState, steps: int) -> str:
    """Batch normalisation whose averages have had few updates, or that validates far worse than it trains."""
    kinds = {type(layer).__name__ for layer in fit.model._flatten_layers(include_self=False)}
    if "BatchNormalization" not in kinds or not fit.losses:
        return ""
    loss, validated = fit.losses[-1].get("loss"), fit.losses[-1].get("val_loss")
    worse = loss is not None and validated is not None and validated > _WORSE_VALIDATED * abs(loss)
    return "batch-norm" if steps < _AVERAGES_SETTLE or worse else ""


def _in_strategy(model: Any) -> bool:
    """Weights on several devices: their values are mirrored, and a look in another thread has another scope."""
    strategy = getattr(model, "distribute_strategy", None) or getattr(model, "_distribute_strategy", None)
    return strategy is not None and int(getattr(strategy, "num_replicas_in_sync", 1)) > 1


def _long_sequences(layers: list[Any], rows: Any) -> bool:
    recurrent = any(hasattr(layer, "return_sequences") for layer in layers)
    lengths = [int(array.shape[1]) for array in leaves(rows.inputs) if len(array.shape) > 1]
    return recurrent and max(lengths, default=0) > _LONGEST_SEQUENCE


def _finite(value: float | None) -> float | None:
    return float(f"{value:.6g}") if value is not None and math.isfinite(value) else None
