"""The course of a training: where the loss began and ended, against the best answer that ignores the inputs.

A constant answer is what a network gives that has learned nothing but the frequencies of its labels. A loss at that
value, or an accuracy at the share of the most frequent class, says that nothing else was learned.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple

from holdfast.explain.finding import Fact
from holdfast.explain.readings.numbers import median, number_of
from holdfast.explain.readings.recorded import Recorded
from holdfast.journal import events as ev

if TYPE_CHECKING:
    from holdfast.explain.evidence import Evidence

#: Losses of single steps at either end that are taken together, so that one batch does not decide.
_STEPS_AVERAGED = 5
#: The same at the end of a loop without epochs: this share of its steps, at most so many. Their mean, as the loss of a
#: constant answer is a mean: the middle one of skewed losses lies below it.
_END_SHARE, _MOST_AT_END = 0.2, 50
#: Of the loss of the best constant answer: a network below the first has learned more, one above the second has not.
#: Chosen: a network that has learned a little falls through this gap within an epoch or two.
_BELOW_CONSTANT, _AT_CONSTANT = 0.85, 0.97
#: Of the way from the share of the largest class to 1: accuracy above the first has learned, at the second it has not.
_ACCURATE, _NO_BETTER = 0.2, 0.03
#: The same for the middle one of the validations of several epochs, each of few rows. Chosen.
_NO_BETTER_VALIDATED, _EPOCHS_VALIDATED = 0.1, 5
#: Where no constant answer is known: a loss that fell by the first share has learned, one by less than the second not.
_FELL, _FLAT = 0.3, 0.02
#: Steps after which a loss that no longer falls is no slow start. Chosen.
_MANY_STEPS = 500
#: The same where all of the data came by again and again. Chosen.
_SEVERAL_PASSES, _STEPS_OF_PASSES = 5, 200
#: Classes that a sample lists one by one; of more, the shares of the others are not known.
_LISTED_CLASSES = 20

#: A wrong answer gives the right class at most one half, which costs this much. Answers beyond it are no rounding.
_COST_OF_AN_ERROR, _NO_ROUNDING = math.log(2), 0.1

CROSS_ENTROPIES = ("binary_crossentropy", "categorical_crossentropy", "sparse_categorical_crossentropy")


class Course(NamedTuple):
    first: float  # of the first steps, or of the first epoch where steps were not recorded
    last: float  # of the last epoch, or of the last steps
    best: float
    epochs: int  # 0: a loop without epochs
    steps: int
    source: str
    constant: float | None  # the loss of the best constant answer
    accuracy: float | None  # in training, at the end
    majority: float | None  # share of the largest class
    fell_late: float | None = None  # by which share from its middle to its end
    passes: int = 0  # over the data, of a loop without epochs

    @property
    def fell(self) -> float:
        """By which share of its first value; below 0 it rose."""
        return (self.first - self.last) / max(abs(self.first), 1e-12)

    def stuck_above(self, share: float) -> bool:
        """It no longer falls, and is above this share of the loss of a constant answer, after many steps."""
        often = self.passes >= _SEVERAL_PASSES and self.steps >= _STEPS_OF_PASSES
        if self.constant is None or self.fell_late is None or not (often or self.steps >= _MANY_STEPS):
            return False
        return abs(self.fell_late) < _FLAT and self.last > share * self.constant

    @property
    def learned(self) -> bool | None:
        """More than the frequencies of the labels; None where the numbers leave it open."""
        by_accuracy = self._by_accuracy
        return by_accuracy if by_accuracy is not None else self._by_loss

    @property
    def at_chance(self) -> bool:
        """By its accuracy: a loss is near that of a constant answer long after the answers have become better."""
        return self.learned is False and self._by_accuracy is False

    @property
    def _by_accuracy(self) -> bool | None:
        if self.accuracy is None or self.majority is None or self.majority >= 1:
            return None
        gained = (self.accuracy - self.majority) / (1 - self.majority)
        return True if gained > _ACCURATE else False if gained <= _NO_BETTER else None

    @property
    def _by_loss(self) -> bool | None:
        if not math.isfinite(self.last):
            return False
        if self.constant is not None and self.constant > 0:
            share = self.last / self.constant
            return True if share < _BELOW_CONSTANT else False if share > _AT_CONSTANT else None
        return True if self.fell > _FELL else False if self.fell < _FLAT else None

    @property
    def fact(self) -> Fact:
        values = {name: getattr(self, name) for name in ("first", "last", "epochs", "steps", "constant")}
        return Fact("training.course", values, self.source)

    @property
    def accuracy_fact(self) -> Fact | None:
        if self.accuracy is None or self.majority is None:
            return None
        values = {"accuracy": self.accuracy, "majority": self.majority}
        return Fact("training.accuracy-against-majority", values, self.source)


def course(evidence: Evidence) -> Course | None:
    """Of the last fit, or of the loop; None where no loss is known."""
    epochs = _epochs(evidence)
    by_epoch = [(number_of(one.event.logs.get("loss")), one) for one in epochs]
    with_loss = [(loss, one) for loss, one in by_epoch if loss is not None]
    recorded = _of_steps(evidence, epochs)
    by_step = [loss for loss, _ in recorded]
    finite = [loss for loss in by_step if math.isfinite(loss)]
    losses = [loss for loss, _ in with_loss] or by_step
    steps = list(range(1, len(losses) + 1)) if with_loss else [step for _, step in recorded]
    if not losses or (not with_loss and len(by_step) < 2 * _STEPS_AVERAGED):
        return None
    began = median(finite[:_STEPS_AVERAGED]) if finite else losses[0]
    ended = losses[-1] if with_loss else _at_end(by_step)
    newest = with_loss[-1][1] if with_loss else None
    return Course(
        first=max(began, losses[0]) if with_loss else began,
        last=ended,
        best=min((loss for loss in losses if math.isfinite(loss)), default=ended),
        epochs=len(with_loss),
        steps=evidence.step or 0,
        source=newest.source if newest is not None else "journal.jsonl",
        constant=constant_loss(evidence),
        accuracy=_accuracy(newest.event) if newest is not None and least_accuracy(evidence) is None else None,
        majority=majority(evidence),
        fell_late=_fell_late(losses, steps),
        passes=passes_over_data(evidence),
    )


def passes_over_data(evidence: Evidence) -> int:
    """Over the data: those that were seen to end, or the rounds of a loop around a loop that came to its end."""
    seen = evidence.last(ev.PassDone)
    planned = evidence.last(ev.LoopPlanned)
    loops = planned.event.loops if planned is not None else []
    around = number_of(loops[0].get("count")) if len(loops) > 1 and evidence.exit_code == 0 else None
    return max(seen.event.number if seen is not None else 0, int(around or 0))


def _at_end(losses: list[float]) -> float:
    last = losses[-min(_MOST_AT_END, max(_STEPS_AVERAGED, int(_END_SHARE * len(losses)))) :]
    if len(last) <= _STEPS_AVERAGED or not all(math.isfinite(loss) for loss in last):
        return median(losses[-_STEPS_AVERAGED:])
    return sum(last) / len(last)


def _fell_late(losses: list[float], steps: list[int]) -> float | None:
    """From the middle of the steps to the end, each the middle one of several where there are many. The first steps are
    recorded one by one, the later ones now and then."""
    few = min(_STEPS_AVERAGED, len(losses) // 4)
    if few < 1 or not all(math.isfinite(loss) for loss in losses):
        return None
    passed = bisect_left(steps, steps[-1] / 2)
    half = min(max(passed, few), len(losses) - 2 * few)  # neither before the first nor among the last
    middle, end = median(losses[half - few : half + few]), median(losses[-few:])
    return (middle - end) / max(abs(middle), 1e-12)


def _epochs(evidence: Evidence) -> list[Recorded[ev.EpochDone]]:
    """Of the last fit; of all, where one model continued."""
    started_over = any(fit.start.iterations == 0 for fit in evidence.fits[1:])
    return list(evidence.fits[-1].epochs) if started_over else evidence.all(ev.EpochDone)


def _of_steps(evidence: Evidence, epochs: list[Recorded[ev.EpochDone]]) -> list[tuple[float, int]]:
    """Losses of single steps with their numbers, oldest first, of the same fits as the epochs."""
    since = evidence.fits[-1].started if evidence.fits and epochs else None
    after = since.line if since is not None and epochs[0].event.fit == evidence.fits[-1].number else 0
    seen = [one.event for one in evidence.all(ev.LossSeen) if one.line > after]
    losses = [one.step_loss if one.step_loss is not None else number_of(one.logs.get("loss")) for one in seen]
    return [(loss, one.step) for loss, one in zip(losses, seen, strict=True) if loss is not None]


def _accuracy(epoch: ev.EpochDone) -> float | None:
    named = [name for name in epoch.logs if "acc" in name and not name.startswith("val_")]
    values = [number_of(epoch.logs[name]) for name in named]
    return next((value for value in values if value is not None), None)


def least_accuracy(evidence: Evidence) -> Fact | None:
    """An accuracy that its own cross-entropy contradicts: with so low a loss, so many answers cannot be wrong."""
    compared, epochs = output(evidence), _epochs(evidence)
    if compared is None or not epochs or compared.event.own_loss or compared.event.part or weighted(evidence):
        return None
    loss, seen = number_of(epochs[-1].event.logs.get("loss")), _accuracy(epochs[-1].event)
    rows = compared.event.loss != "binary_crossentropy" or (compared.event.units or 0) == 1
    if loss is None or seen is None or not rows or compared.event.loss not in CROSS_ENTROPIES:
        return None
    least = math.floor(100 * (1 - loss / _COST_OF_AN_ERROR)) / 100
    if not 0 <= seen < least - _NO_ROUNDING or loss < 0 or _outside(targets(evidence), compared.event):
        return None
    return epochs[-1].fact("accuracy.contradicts-loss", accuracy=seen, loss=loss, least=least)


def _outside(seen: Recorded[ev.ValuesSeen] | None, compared: ev.OutputSeen) -> bool:
    """Labels beyond the classes, whose cross-entropy is none."""
    if seen is None or seen.event.min is None or seen.event.max is None:
        return True
    most = (compared.units or 2) - 1 if compared.loss.startswith("sparse") else 1
    return seen.event.min < 0 or seen.event.max > most


def validated_by_chance(evidence: Evidence) -> Fact | None:
    """In every one of several epochs a validation no better than the best constant answer: what the training has
    learned, if anything, it has learned by heart."""
    epochs, constant, most = _epochs(evidence), constant_loss(evidence), majority(evidence)
    losses = [number_of(one.event.logs.get("val_loss")) for one in epochs]
    known = [loss for loss in losses if loss is not None]
    if len(known) < _EPOCHS_VALIDATED or constant is None or min(known) < _AT_CONSTANT * constant:
        return None
    shares = [
        number_of(value) for one in epochs for name, value in one.event.logs.items() if _validates(name)
    ]
    right = median([share for share in shares if share is not None] or [0.0])
    if most is not None and most < 1 and (right - most) / (1 - most) > _NO_BETTER_VALIDATED:
        return None
    return epochs[-1].fact("validation.by-chance", best=min(known), constant=constant, epochs=len(known))


def _validates(name: str) -> bool:
    return name.startswith("val_") and "acc" in name


def weighted(evidence: Evidence) -> bool:
    """Samples or classes have weights of their own."""
    return any(one.event.role == "weight" for one in evidence.all(ev.ValuesSeen))


def targets(evidence: Evidence) -> Recorded[ev.ValuesSeen] | None:
    """Of the last fit; None where there are several or none."""
    seen = [one for one in evidence.all(ev.ValuesSeen) if one.event.role == "target"]
    newest = [one for one in seen if one.event.fit == seen[-1].event.fit] if seen else []
    return newest[0] if len({one.event.name for one in newest}) == 1 else None


def output(evidence: Evidence, *, in_step: bool = False) -> Recorded[ev.OutputSeen] | None:
    """What the loss compares, where there is one output.

    A step of the user's own may compare with other than the labels that `fit` was given: `in_step` asks for it.
    """
    newest = newest_outputs(evidence, in_step)
    return newest[-1] if len({one.event.output for one in newest}) == 1 else None


def newest_outputs(evidence: Evidence, in_step: bool | None = None) -> list[Recorded[ev.OutputSeen]]:
    """What is compared in the last fit or in the loop. `in_step`: None for either."""
    seen = evidence.all(ev.OutputSeen)
    seen = [one for one in seen if in_step is None or (one.event.by == "step") is in_step]
    return [one for one in seen if (one.event.fit, one.event.by) == (seen[-1].event.fit, seen[-1].event.by)]


def majority(evidence: Evidence) -> float | None:
    seen = targets(evidence)
    if seen is None or not seen.event.classes:
        return None
    return max(seen.event.classes.values()) / max(1, seen.event.rows)


def constant_loss(evidence: Evidence, *, of_part: bool = False) -> float | None:
    """Of the best answer that is the same for every input; None for losses of which that is not known. `of_part`: also
    where that loss is but a part, or a multiple, of what is differentiated."""
    seen, compared = targets(evidence), output(evidence)
    if compared is not None and compared.event.part and not of_part:
        return None
    if seen is None or compared is None or compared.event.own_loss or seen.event.shape not in ([], [1]):
        return _of_one_hot(seen, compared)
    loss, values = compared.event.loss, seen.event
    if loss == "mean_squared_error" and values.std is not None:
        return values.std**2
    if loss == "mean_absolute_error":
        return values.median_deviation
    return _entropy(values) if loss in CROSS_ENTROPIES else None


def within_batch(evidence: Evidence) -> float | None:
    """The loss by chance of a row that is looked for among those of its batch, as contrastive losses have it: each row
    is a class of its own. None for another loss."""
    seen = [one.event for one in evidence.all(ev.OutputSeen) if one.event.fit is None]
    rows = {(tuple(one.prediction_shape or ()), tuple(one.target_shape or ())) for one in seen}
    if len(rows) != 1 or any(one.loss != "sparse_categorical_crossentropy" for one in seen):
        return None
    predicted, wanted = next(iter(rows))
    if (
        len(predicted) != 2
        or predicted[0] != predicted[1]
        or wanted != predicted[:1]
        or (predicted[0] or 0) < 2
    ):
        return None
    targets = [one.event for one in evidence.all(ev.ValuesSeen) if one.event.role == "target"]
    each_once = [
        one for one in targets if one.class_count == predicted[0] and len(set(one.classes.values())) == 1
    ]
    return math.log(predicted[0]) if targets and len(each_once) == len(targets) else None


def _of_one_hot(
    seen: Recorded[ev.ValuesSeen] | None, compared: Recorded[ev.OutputSeen] | None
) -> float | None:
    if seen is None or compared is None or not seen.event.one_hot:
        return None
    return _entropy(seen.event) if compared.event.loss == "categorical_crossentropy" else None


def _entropy(values: ev.ValuesSeen) -> float | None:
    """Of the labels, in nats; None where not all classes are listed."""
    if not values.classes or (values.class_count or 0) > _LISTED_CLASSES:
        return None
    total = sum(values.classes.values())
    shares = [count / total for count in values.classes.values() if count]
    return -sum(share * math.log(share) for share in shares)
