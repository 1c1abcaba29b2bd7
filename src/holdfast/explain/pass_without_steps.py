"""A pass over infinite data in a loop of the user's own, in which no training step is done: a validation, in short."""

from __future__ import annotations

from itertools import dropwhile, takewhile
from typing import NamedTuple

from holdfast.explain.evidence import Evidence
from holdfast.explain.readings.pipeline import INFINITE
from holdfast.explain.readings.recorded import Recorded
from holdfast.journal import events as ev

#: Samples in which no step was done, and among the last of which a batch was drawn: neither one long batch nor a stall.
_LEAST_SAMPLES, _LAST_SAMPLES = 4, 6
#: Times as many batches as a pass of training has steps. A `break` may end the loop where its source has one or is not
#: known: the one is then worth a question, the other is beyond what anybody plans. Chosen.
_FAR_LONGER, _BEYOND_ALL = 10, 1000
#: So long without a step, and a signal from outside is an answer to it. Chosen: as long as the supervisor waits before
#: it says that a validation does not end.
_LONG_S = 60.0


class PassWithoutSteps(NamedTuple):
    data: Recorded[ev.DatasetSeen]
    loop: Recorded[ev.DataOnlyLoopSeen] | None  # its source has no way out
    batches: int
    training_steps: int  # of the longest pass of training
    for_s: float
    source: str  # of the newest sample

    @property
    def likely(self) -> bool:
        return self.loop is not None or self.batches > _BEYOND_ALL * max(self.training_steps, 1)

    @property
    def where(self) -> str:
        return self.loop.event.where if self.loop is not None else self.data.event.where


def pass_without_steps(evidence: Evidence) -> PassWithoutSteps | None:
    """The pass under way at the end, or now."""
    data, fit, samples = evidence.data("validation"), evidence.fit, evidence.samples
    in_fit = fit is not None and not fit.finished
    if data is None or data.event.cardinality != INFINITE or in_fit or not samples or not samples[-1][1].step:
        return None
    step = evidence.step
    since_step = list(
        takewhile(lambda one: one[1].step == step and not one[1].train_batches, reversed(samples))
    )
    open_for = list(dropwhile(lambda one: not one[1].test_batches, reversed(since_step)))
    counts = [sample.test_batches for _, sample in open_for]
    if len(counts) < _LEAST_SAMPLES or counts != sorted(counts) or counts[-1] == counts[-_LAST_SAMPLES:][0]:
        return None
    training = _longest_training(evidence)
    loops = [one for one in evidence.all(ev.DataOnlyLoopSeen) if one.event.role == "validation"]
    loop = loops[-1] if loops and loops[-1].line > _last_step(evidence) else None
    if loop is None and counts[-1] <= _FAR_LONGER * max(training, 1):
        return None
    for_s = open_for[-1][1].mono - open_for[0][1].mono
    return PassWithoutSteps(data, loop, counts[-1], training, for_s, f"vitals.jsonl:{open_for[-1][0]}")


def was_stuck(evidence: Evidence) -> bool:
    """It had not moved for long when it was ended: a signal from outside is no cause, but an answer."""
    if evidence.is_stalled:
        return True
    found = pass_without_steps(evidence)
    return found is not None and found.likely and found.for_s >= _LONG_S


def _longest_training(evidence: Evidence) -> int:
    passes = [one.event.steps for one in evidence.all(ev.PassDone)]
    return max([*passes, *(sample.train_batches for _, sample in evidence.samples)], default=0)


def _last_step(evidence: Evidence) -> int:
    """The line of the newest event that a training step wrote."""
    written = [one.line for kind in (ev.LossSeen, ev.PassDone) for one in evidence.all(kind)[-1:]]
    return max(written, default=0)
