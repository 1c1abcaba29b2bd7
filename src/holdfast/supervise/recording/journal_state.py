"""What the process itself has reported in the journal, as far as the monitor needs it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from holdfast.journal import events
from holdfast.journal.events import Event, FitStarted
from holdfast.journal.reader import Entry
from holdfast.supervise.stall.gpu_wait import NOWHERE, SamePoint

_TIMES_BEFORE = 10
_INFINITE = -1


def filtered_between(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> int:
    """How many elements a filter was given between two readings in which it let none through.

    Nodes come from the end of the pipeline to its source, each with the count of what it has passed on.
    """
    if len(before) != len(after):
        return 0
    for at, node in enumerate(after[:-1]):
        if "Filter" in str(node.get("name")) and node.get("elements", 0) == before[at].get("elements", 0):
            return max(0, int(after[at + 1].get("elements", 0)) - int(before[at + 1].get("elements", 0)))
    return 0


def repeated_below_filter(nodes: list[dict[str, Any]]) -> int | None:
    """What the data behind a filter's `repeat` has passed on in the round that it is in; None where there is none."""
    names = [str(node.get("name")) for node in nodes]
    filters = [at for at, name in enumerate(names) if "Filter" in name]
    repeats = [at for at, name in enumerate(names) if "Repeat" in name and filters and at > filters[0]]
    return int(nodes[repeats[0] + 1].get("elements", 0)) if repeats and repeats[0] + 1 < len(nodes) else None


class FilterCount:
    """Elements that a filter of one dataset was given since it last let one through."""

    def __init__(self) -> None:
        self._given = self._longest = 0
        self._nodes: list[dict[str, Any]] = []
        self._round = 0  # elements of a round of the data, as far as one was seen
        self._in_round: int | None = None

    def read(self, nodes: list[dict[str, Any]]) -> None:
        given = filtered_between(self._nodes, nodes)
        if not given:
            self._longest = max(self._longest, self._given)
        self._given = self._given + given if given else 0
        self._nodes = nodes
        before, self._in_round = self._in_round, repeated_below_filter(nodes)
        if before is not None and self._in_round is not None and self._in_round < before + given:
            self._round = max(self._round, before, self._in_round)

    @property
    def elements(self) -> int:
        """Where that is far more than ever before."""
        return self._given if self._given >= _TIMES_BEFORE * self._longest else 0

    @property
    def rounds(self) -> int:
        """Times that all of its data went through it meanwhile, where it is repeated."""
        return self.elements // self._round if self._round else 0


class JournalState:
    """Updated with the entries of one attempt, in order."""

    def __init__(self) -> None:
        self.fit: FitStarted | None = None
        self.cardinality: dict[str, int] = {}  # by the dataset's role
        #: Roles of the data that ends a loop of the user's, and nothing else does.
        self.data_only_loops: set[str] = set()
        self.in_fit = self._in_validation = False  # Keras's own loops
        self.validation_planned: int | None = None
        self.longest_validation_batches = 0
        self.longest_epoch_steps = 0
        self.start_iterations = 0  # of the optimizer, when the first fit of the attempt began
        self.start_epoch = 0
        self.saves_done = 0
        self.save_folders: set[Path] = set()
        self.exception = ""  # the last that left fit or the script: "Type at train.py:41"
        self.steps_done = 0  # as the last FitDone had it, all fits together
        self.exit_raised = ""
        self.has_custom_loop = False
        self.same_point = NOWHERE  # as last reported
        self.loop_condition = ""  # what ends the custom training loop, where nothing else does
        self.configuration = ""  # of our trainer in this attempt: "micro-batches of 4"
        self._filters = {"train": FilterCount(), "validation": FilterCount()}
        self._first_fit = True
        self._steps_before = 0  # of the fits before the last one

    def update(self, entries: list[Entry]) -> None:
        for entry in entries:
            if entry.by != "supervisor":
                self._apply(entry.event)
                if isinstance(entry.event, events.SamePointSeen):
                    self.same_point = SamePoint(entry.event, entry.mono)

    @property
    def planned_steps(self) -> int | None:
        """Of the process: what earlier fits did, and of the last one its epochs times the steps of one."""
        if self.fit is None or self.fit.epochs is None:
            return None
        steps_per_epoch = self.fit.planned_steps_per_epoch or self.longest_epoch_steps
        epochs = self.fit.epochs - self.fit.initial_epoch
        return self._steps_before + epochs * steps_per_epoch if steps_per_epoch else None

    def never_ends(self, role: str) -> bool:
        """A pass over this data: the data has no end, and nothing else ends the loop.

        Keras leaves its own loops after the steps that were planned, a loop of the user's own wherever its source says.
        """
        ends_with_data = self.in_fit or self._in_validation or role in self.data_only_loops
        return self.cardinality.get(role) == _INFINITE and ends_with_data

    @property
    def filtered_elements(self) -> int:
        """Of the data that is drawn from now: a validation's while it runs."""
        return self._filter.elements

    @property
    def filtered_rounds(self) -> int:
        """Times that all of the data went through it since."""
        return self._filter.rounds

    @property
    def _filter(self) -> FilterCount:
        return self._filters["validation" if self._in_validation else "train"]

    def callback_name(self, callback_index: int) -> str:
        """By the number that a beat carries."""
        callbacks = self.fit.callbacks if self.fit is not None else []
        known = 0 < callback_index <= len(callbacks)
        return str(callbacks[callback_index - 1].get("class", "")) if known else ""

    def _apply(self, event: Event) -> None:
        match event:
            case FitStarted():
                self._begin_fit(event)
            case events.DatasetSeen(cardinality=int() as cardinality, role=role):
                self.cardinality[role] = cardinality
            case events.DataOnlyLoopSeen(role=role):
                self.data_only_loops.add(role)
            case events.ValidationStarted(planned_batches=planned):
                self.validation_planned, self._in_validation = planned, True
            case events.ValidationDone(batches=batches):
                self._in_validation = False
                self.longest_validation_batches = max(self.longest_validation_batches, batches)
            case events.EpochDone(steps=steps):
                self.longest_epoch_steps = max(self.longest_epoch_steps, steps)
            case events.FitDone(steps=steps):
                self.steps_done += steps
                self.in_fit = self._in_validation = False
            case events.SaveStarted(path=path) if path:
                self.save_folders.add(Path(path).parent)
            case events.SaveDone():
                self.saves_done += 1
            case events.ExceptionRaised(
                type=kind, user_line=line, left="fit" | "callback" | "evaluate" | "script"
            ):
                self.exception = f"{kind} at {line}" if line else kind
            case events.ExitStarted(raised=raised):
                self.exit_raised = raised
            case events.MicroBatchSet(micro_batch=size):
                self.configuration = f"micro-batches of {size}"
            case events.OpenLoopSeen(until=until, where=where):
                self.loop_condition = f"{' and '.join(until)} ({where})" if until else ""
            case events.LoopSeen():
                self.has_custom_loop = True
            case events.PipelineSeen(role="train" | "validation" as role, nodes=nodes):
                self._filters[role].read(nodes)
            case _:
                pass

    def _begin_fit(self, event: FitStarted) -> None:
        self.fit, self.in_fit = event, True
        self._steps_before = self.steps_done
        if self._first_fit:
            self._first_fit = False
            self.start_iterations = event.iterations or 0
            self.start_epoch = event.initial_epoch
