"""The plan of a run's memory, made in a thread while the trainer builds and compiles its step.

The exact prediction compiles the step once more, for as long as a third of the first start. What training has to know
before it begins, the micro-batch, is certain much earlier where memory is plentiful.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from holdfast.memory.choose_micro_batch import MicroBatchPlan

MakePlan = Callable[
    [Callable[[int], None]], MicroBatchPlan
]  # gets what to call with a micro-batch that surely fits


class BackgroundPlan:
    """`done` is called with the plan, in the thread. It is a daemon: nobody waits for it at the end of a run."""

    def __init__(self, make: MakePlan, done: Callable[[MicroBatchPlan], None] = lambda plan: None) -> None:
        self._make, self._done = make, done
        self._plan: MicroBatchPlan | None = None
        self._micro_batch: int | None = None
        self._error: BaseException | None = None
        self._decided = threading.Event()
        threading.Thread(target=self._run, name="holdfast-memory-plan", daemon=True).start()

    @property
    def plan(self) -> MicroBatchPlan | None:
        """None until it is made."""
        return self._plan

    def micro_batch(self) -> int | None:
        """Waits until it is certain. None when nothing can be planned."""
        self._decided.wait()
        if self._error is not None:
            raise self._error
        return self._micro_batch

    def _run(self) -> None:
        try:
            plan = self._make(self._decide)
            self._decide(plan.micro_batch)
            self._plan = plan
            self._done(plan)
        except BaseException as error:  # for whoever waits
            self._error = error
            self._decided.set()

    def _decide(self, micro_batch: int | None) -> None:
        if not self._decided.is_set():
            self._micro_batch = micro_batch
            self._decided.set()
