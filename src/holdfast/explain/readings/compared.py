"""What the loss of a training compares: an output of the model with targets, and how that went."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from holdfast.explain.finding import Fact, Strength, facts
from holdfast.explain.readings import course as courses
from holdfast.explain.readings.recorded import Recorded
from holdfast.journal import events as ev

if TYPE_CHECKING:
    from holdfast.explain.evidence import Evidence

BINARY = frozenset({"binary_crossentropy", "binary_focal_crossentropy"})
CATEGORICAL = frozenset({"categorical_crossentropy", "categorical_focal_crossentropy"})
SPARSE = frozenset({"sparse_categorical_crossentropy"})
#: Losses of a difference between two numbers.
DIFFERENCES = frozenset(
    {"mean_squared_error", "mean_absolute_error", "mean_absolute_percentage_error",
     "mean_squared_logarithmic_error", "huber", "log_cosh"}
)  # fmt: skip
#: Rows below which a sample says nothing about all of the data.
_FEWEST_ROWS = 8


class Compared(NamedTuple):
    seen: Recorded[ev.OutputSeen]
    targets: Recorded[ev.ValuesSeen] | None
    course: courses.Course | None

    @property
    def output(self) -> ev.OutputSeen:
        return self.seen.event

    @property
    def labels(self) -> ev.ValuesSeen | None:
        return self.targets.event if self.targets is not None else None

    @property
    def learned(self) -> bool | None:
        """More than the frequencies of the labels. A binary accuracy of rows with one 1 is high from the start."""
        if self.course is None:
            return None
        labels = self.labels
        misleads = labels is not None and labels.one_hot and "binary_accuracy" in self.output.metrics
        return (self.course._replace(accuracy=None) if misleads else self.course).learned

    @property
    def strength(self) -> Strength:
        """Of a real contradiction: what learned in spite of it is not blamed, nor what has no course to judge by."""
        blamed = self.course is not None and self.learned is not True
        return Strength.SUPPORTED if blamed else Strength.POSSIBLE

    @property
    def is_one_number(self) -> bool:
        """A target is one number, as a class id or the value of a regression is."""
        return self.labels is not None and self.labels.shape in ([], [1])

    @property
    def is_class_id(self) -> bool:
        return self.is_one_number and self.labels is not None and bool(self.labels.classes)

    @property
    def classes(self) -> int:
        """How many there are among the labels; 0 where they are no classes."""
        labels = self.labels
        if labels is None:
            return 0
        return labels.class_count or (labels.shape[-1] if labels.one_hot and labels.shape else 0)

    @property
    def loss(self) -> str:
        """ "" for a function of the user's own, of which nothing is known."""
        return "" if self.output.own_loss else self.output.loss

    @property
    def layer(self) -> str:
        """As the user may have written it: `Dense(1, activation="softmax")`."""
        return layer_text(self.output)

    @property
    def output_fact(self) -> Fact:
        event = self.output
        values = {"layer": self.layer, "where": event.where, "loss": event.loss, "loss_where": event.loss_where,
                  "from_logits": event.from_logits}  # fmt: skip
        return self.seen.fact("output.compared", **values)

    @property
    def target_fact(self) -> Fact | None:
        return targets_fact(self.targets) if self.targets is not None else None

    @property
    def because(self) -> list[Fact]:
        course = self.course
        return facts(
            self.output_fact,
            self.target_fact,
            course.fact if course is not None else None,
            course.accuracy_fact if course is not None else None,
        )


def compared(evidence: Evidence, *, in_step: bool = False) -> Compared | None:
    """Where one output is compared; None for models with several, and where it was not seen."""
    seen = courses.output(evidence, in_step=in_step)
    if seen is None:
        return None
    return Compared(seen, courses.targets(evidence), courses.course(evidence))


def targets_fact(targets: Recorded[ev.ValuesSeen]) -> Fact:
    event = targets.event
    whole = event.distinct if event.whole_numbers and event.distinct else None
    values = {"low": event.min, "high": event.max, "distinct": whole, "shape": list(event.shape),
              "one_hot": event.one_hot, "rows": event.rows}  # fmt: skip
    return targets.fact("targets.seen", **values)


#: What a loss says that cannot compare two shapes.
_SHAPES = re.compile(
    r"must have (?:the same|rank)|[Ii]ncompatible shapes|are incompatible|[Dd]imensions must be equal|"
    r"logits and labels must|could not be broadcast|must match the size of tensor"
)


def raised_by_shapes(evidence: Evidence) -> list[Fact]:
    """The error that ended the run, where it says that two shapes cannot be compared; else nothing."""
    error = evidence.error
    if error is None or not _SHAPES.search(error.text):
        return []
    kind, message = error.own
    return [Fact("error.raised", {"type": kind, "message": message}, error.source)]


def inputs(evidence: Evidence) -> list[Recorded[ev.ValuesSeen]]:
    """Of the last fit."""
    seen = [one for one in evidence.all(ev.ValuesSeen) if one.event.role == "input"]
    return [one for one in seen if one.event.fit == seen[-1].event.fit]


def is_spread(values: ev.ValuesSeen) -> bool:
    """The sample was taken from all of the data, not from its first batch: data may be sorted."""
    return values.step == 0 and values.rows >= _FEWEST_ROWS


def layer_text(event: ev.OutputSeen) -> str:
    known = event.layer if event.layer else "the output"
    if event.layer == "Dense" or event.layer.startswith("Conv"):
        known = f"{event.layer}({event.units}" if event.units is not None else f"{event.layer}("
        return known + (f', activation="{event.activation}")' if event.activation != "linear" else ")")
    return f"{known} with {event.activation}" if event.activation else known
