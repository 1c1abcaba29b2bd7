"""The Keras model that a loop of the user's own trains: the one whose weights its optimizer changes."""

from __future__ import annotations

from typing import Any

from ..learning import outputs
from ..runtime.context import ProbeContext
from ..runtime.weak_references import weak
from ..state import model_facts

PART = "loop_model"


class LoopModel:
    def __init__(self, context: ProbeContext) -> None:
        self._context = context
        self.new_run()

    def new_run(self) -> None:
        self._seen = False

    def stepped(self, optimizer_model: Any) -> None:
        """After the first step of a loop, when the optimizer has its weights."""
        if not self._seen:
            self._seen = True
            self._context.guard(PART, self._record, optimizer_model)

    def _record(self, optimizer_model: Any) -> None:
        trained = {id(one) for one in optimizer_model.trainable_variables}
        model = self.of(trained) if trained else None
        if model is None:
            return
        event = model_facts.describe(model, "")
        optimizer = optimizer_model.optimizer
        self._context.record(
            event.changed(
                optimizer=type(optimizer).__name__,
                learning_rate=model_facts.learning_rate(optimizer_model),
                loss="",
            )
        )
        reference = weak(model)
        self._context.at_exit.append(lambda: self._write_output(reference()))
        self._watch_averages(model)
        layers = outputs.layers_seen(model, self._context.learning.lines)
        if layers.layers:
            self._context.record(layers)

    def _watch_averages(self, model: Any) -> None:
        """Of batch normalisation, from the first step to the end."""
        averages, since, reference = self._context.averages, self._context.heartbeat.step, weak(model)
        before = averages.of(model)
        if before:
            self._context.at_exit.append(
                lambda: averages.compare(before, reference(), self._context.heartbeat.step - since)
            )

    def _write_output(self, model: Any) -> None:
        """Of a loop whose loss is the user's own: what the model gives is known all the same."""
        if model is None or self._context.loss_calls.any_recorded:
            return
        for event in outputs.without_loss(model, self._context.learning.lines):
            self._context.record(event)

    def of(self, trained: set[int]) -> Any:
        """None where several models share them, or the loop trains more than one model's weights."""
        found = []
        for model in self._context.models.alive.every():
            weights = model_facts.trainable_of(model)
            if weights and {id(one) for one in weights} == trained:
                found.append(model)
        return max(found, key=lambda one: len(list(one._flatten_layers())), default=None) if found else None
