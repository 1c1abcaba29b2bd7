"""What the rest of the probe asks of this package. Each method is guarded as the part that does it."""

from __future__ import annotations

from typing import Any

from ..runtime.context import ProbeContext
from . import first_step_memory, retained_objects


class MemoryUseObserver:
    def __init__(self, context: ProbeContext) -> None:
        self._context = context
        self.new_run()

    def new_run(self) -> None:
        self._watches_objects = False
        self._measures_steps = False

    def training_began(self) -> None:
        """From the first training on, what the script's objects keep is surveyed when memory grows."""
        if not self._watches_objects:
            self._watches_objects = True
            self._context.guard(retained_objects.PART, self._watch_objects)

    def first_step_done(self, model: Any) -> None:
        """A fit has made its first step; its memory is measured when it has made another."""
        if not self._measures_steps:
            self._measures_steps = True
            measurement = first_step_memory.FirstStepMemory(self._context, model)
            self._context.background.every_second(first_step_memory.PART, measurement.poll)

    def _watch_objects(self) -> None:
        objects = retained_objects.RetainedObjects(self._context)
        self._context.background.every_second(retained_objects.PART, objects.poll)
