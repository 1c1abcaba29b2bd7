"""How the numbers broke: the first that was not finite, the losses before it, the batch far beyond the others."""

from __future__ import annotations

import math
import re
from itertools import pairwise

from holdfast.explain.evidence import Evidence
from holdfast.explain.finding import Fact
from holdfast.explain.readings.end import exit_called
from holdfast.explain.readings.error import user_line
from holdfast.explain.readings.numbers import median, number_of
from holdfast.explain.readings.recorded import Recorded
from holdfast.journal import events as ev

# -- thresholds, all chosen: they separate the test programs whose data broke them from those whose learning rate did --
_ORDINARY = 12  # losses that show what is usual
#: Times the usual loss that ordinary losses stay below, and that a loss exceeds which jumped or exploded.
_ORDINARY_SPREAD, _FAR_BEYOND = 20, 1e3
#: A loss that no data makes, whatever was usual.
_HUGE = 1e8
#: Steps in a row at which the loss rose, and times the usual loss that it reached by them.
_RISING_STEPS, _RISEN = 4, 5
#: Finite losses after one that was not, from which a training is known to have continued, and how many at either end
#: are compared. A loss that comes out of broken weights is as high as before them, or higher.
_CONTINUED, _COMPARED = 12, 8
#: Below this a usual loss is taken for zero, of which nothing is a multiple.
_ZERO, _ZERO_RISING = 1e-6, 1e-9


def non_finite(evidence: Evidence) -> Recorded[ev.NonFiniteSeen] | None:
    """The first loss, weight or gradient of the last fit that was not finite."""
    seen = evidence.all(ev.NonFiniteSeen)
    found = [one for one in seen if one.event.what not in ("input", "target", "metric")]
    if passed_over(evidence):
        return None
    last_fit = evidence.fit.started if evidence.fit is not None else None
    if last_fit is not None and len(evidence.fits) > 1:  # a search may well lose a trial and continue
        over = max((fit.done.line for fit in evidence.fits[:-1] if fit.done is not None), default=0)
        found = [one for one in found if one.line > over and one.mono > last_fit.mono - 1]
    first = [one for one in found if one.event.what in ("weights", "gradient", "loss")]
    return next(iter(first or found), None)


def passed_over(evidence: Evidence) -> bool:
    """Losses were not finite now and then, and the training continued to learn: their updates were left out, by the
    script or by its optimizer. No weight can be broken that a loss falls with."""
    seen = [one.event for one in evidence.all(ev.NonFiniteSeen)]
    of_losses = [one for one in seen if one.what in ("loss", "loss-part")]
    weights = any(one.what in ("weights", "gradient") or one.weights_finite is False for one in seen)
    if not of_losses or weights or evidence.error is not None:
        return False
    broke, course = of_losses[0].step, evidence.losses
    before = [loss for step, loss, _ in course if step < broke and math.isfinite(loss)]
    after = [loss for step, loss, _ in course if step > broke]
    finite = [loss for loss in after if math.isfinite(loss)]
    if len(finite) < _CONTINUED or not all(math.isfinite(loss) for loss in after[-_COMPARED:]):
        return False
    return not before or median(finite[-_COMPARED:]) <= median(before[-_COMPARED:])


def steps_before(broken: Recorded[ev.NonFiniteSeen]) -> list[float]:
    """The finite losses of single steps before it broke, oldest first."""
    recent = broken.event.detail.get("recent_steps") or broken.event.recent
    values = [number_of(value) for value in recent]
    return [value for value in values if value is not None and math.isfinite(value)]


def became_non_finite(broken: Recorded[ev.NonFiniteSeen] | None) -> Fact | None:
    if broken is None:
        return None
    event = broken.event
    return broken.fact(
        "value.became-non-finite",
        what=event.what,
        name=event.name if event.name != event.what else "",
        value=event.value,
        step=event.step,
        last_finite=None if event.what == "weights" else event.last_finite,  # there it is the loss
    )


def weights_finite_before(broken: Recorded[ev.NonFiniteSeen] | None) -> Fact | None:
    return broken.fact("weights.finite-before") if broken and broken.event.weights_finite_before else None


#: A line that raises; and the words of a library that looks for such values itself, as NumPy and torch do when asked.
_ON_PURPOSE = re.compile(r"(?:^|:)\s*(?:raise|assert)\b")
_SAYS_SO = re.compile(r"\b(nans?|infs?|infinit\w*|non-?finite|not finite)\b", re.IGNORECASE)


def stopped_itself(evidence: Evidence) -> list[Fact]:
    """The script raised or exited by a line of its own after the loss had broken for good: it noticed, and no more."""
    broken = non_finite(evidence)
    if broken is None or not evidence.exit_code:
        return []
    seen = [one.event for one in evidence.all(ev.LossSeen) if one.event.step > broken.event.step]
    later = [number_of(one.logs.get("loss")) for one in seen]
    if any(loss is not None and math.isfinite(loss) for loss in later):
        return []
    error, called = evidence.error, evidence.exit_called
    if called is not None and (error is None or error.type == "SystemExit"):
        return [exit_called(called)]
    if error is None or error.type in ("KeyboardInterrupt", "SystemExit"):
        return []
    kind, message = error.own
    if not _ON_PURPOSE.search(error.user_code) and not _SAYS_SO.search(message):
        return []
    return [Fact("error.raised", {"type": kind, "message": message}, error.source), *user_line(evidence)]


def made_by_a_function(evidence: Evidence) -> Fact | None:
    """A batch is not finite, and what is stored is: a function between the two has made it."""
    parts = [(seen, part) for seen in evidence.all(ev.BatchSeen) for part in seen.event.parts]
    stored = [(seen, part) for seen, part in parts if part.get("found") == "stored"]
    of_batch = [part for _, part in parts if part.get("finite") is False and part.get("found") != "stored"]
    if not stored or not of_batch or any(part.get("finite") is False for _, part in stored):
        return None
    names = [str(part.get("path")) for _, part in stored]
    return stored[0][0].fact("data.stored-finite", names=names, columns=of_batch[0].get("columns") or [])


def outlier(evidence: Evidence) -> Fact | None:
    """The batch that holds a value far beyond all others, looked for where the loss jumped or broke."""
    for seen in evidence.all(ev.BatchSeen):
        for part in seen.event.parts:
            value, usual = number_of(part.get("far")), number_of(part.get("usual"))
            if value is None or usual is None:
                continue
            place = {"step": seen.event.step, "row": part.get("row"), "sample": part.get("sample")}
            return seen.fact("batch.outlier", value=value, usual=usual, name=part.get("path"), **place)
    return None


def jumped(values: list[float]) -> bool:
    """From a loss like all before it to one beyond them all in a single step: what a batch does, and no rate."""
    if len(values) < _ORDINARY:
        return False
    before = sorted(abs(value) for value in values[:-1])
    usual = max(before[len(before) // 2], _ZERO)
    return before[-1] < _ORDINARY_SPREAD * usual and abs(values[-1]) > _FAR_BEYOND * usual


def grew_before(broken: Recorded[ev.NonFiniteSeen]) -> bool:
    """The loss grew before it broke: over several steps, or to a number that no data makes."""
    values = [abs(value) for value in steps_before(broken)]
    if len(values) < 2:
        return False
    usual = sorted(values[: max(1, len(values) // 2)])[max(0, len(values) // 2 - 1) // 2]
    exploded = values[-1] > _FAR_BEYOND * max(usual, _ZERO) or max(values) > _HUGE
    rising = (
        len(values) >= _RISING_STEPS
        and all(b > a for a, b in pairwise(values[-_RISING_STEPS:]))
        and values[-1] > _RISEN * max(usual, _ZERO_RISING)
    )
    return (exploded or rising) and not jumped(values)
